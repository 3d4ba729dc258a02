package check

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An entry is an entry of a let that is a map. The others can read it by its key.
type entry struct {
	key    string
	node   *source.Node
	at     site
	others map[string]*entry // of the map, by key, without those that are names of the rule
	t      *types.Type       // once it is known
	begun  bool              // its type is known or being inferred
	walked bool              // its guards are being evaluated
}

// entryTypes infers the types of the entries of a let that is a map, each after those that
// it reads.
func (d *declarations) entryTypes(l *let, at site) {
	n := l.src.Data
	if n == nil || n.Kind != source.Map {
		return
	}
	all := map[string]*entry{}
	l.entries = all
	for _, f := range n.Fields {
		e := &entry{key: f.Key.Value, node: f.Value, at: at.under(f.Key.Value), others: all}
		if syntax.IsName(e.key) && !d.declared[e.key] && d.lets[e.key] == nil {
			all[e.key] = e
		}
		for src := range e.node.Expressions() {
			d.entryOf[src] = e
		}
	}
	sc := d.names.Nested()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		d.entryType(all[key], sc)
	}
}

func (d *declarations) entryType(e *entry, sc *expr.TypedScope) {
	if e.begun {
		return
	}
	e.begun = true
	for src := range e.node.Expressions() {
		if parsed := expr.Parse(src); parsed != nil {
			ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(node ast.Expr) {
				if node.Kind() == ast.IdentKind && e.others[node.AsIdent()] != nil {
					d.entryType(e.others[node.AsIdent()], sc)
				}
			}))
		}
	}
	e.t = d.dataType(e.node, sc, e.at)
	sc.Declare(e.key, e.t)
}
