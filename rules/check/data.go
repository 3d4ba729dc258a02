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

// A let is a named value.
type let struct {
	src    *syntax.Let
	begun  bool        // its type is known or being inferred
	t      *types.Type // once it is known
	wide   bool        // it reads lookups or children, directly or through other lets
	walked bool        // its guards are being evaluated

	entries map[string]*entry // of data that is a map, by key
}

// let infers the type of a let after the types of those that it mentions.
func (d *declarations) let(name string) {
	l := d.lets[name]
	if l == nil || l.begun {
		return
	}
	l.begun = true
	for _, e := range l.expressions() {
		if parsed := expr.Parse(e); parsed != nil {
			ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
				if e.Kind() == ast.IdentKind {
					name := e.AsIdent()
					d.let(name)
					l.wide = l.wide || d.objects[name] || d.lets[name] != nil && d.lets[name].wide
				}
			}))
		}
	}
	at := site{"let." + name, "let/" + d.src.Name.Value + "/" + name}
	if l.src.Expr != nil {
		l.t = d.expressions.infer(l.src.Expr, d.names, at.where).t
	} else {
		d.entryTypes(l, at)
		l.t = d.dataType(l.src.Data, d.names, at)
	}
	d.declare(name, l.t)
}

func (l *let) expressions() []*source.Expr {
	if l.src.Expr != nil {
		return []*source.Expr{l.src.Expr}
	}
	return slices.Collect(l.src.Data.Expressions())
}

// A site is a position in data: its path for messages, and the name of its type.
type site struct{ where, name string }

func (p site) under(key string) site { return site{p.where + "." + key, p.name + "." + key} }

// dataType returns the type of data. It checks the expressions in it.
func (d *declarations) dataType(n *source.Node, sc *expr.TypedScope, at site) *types.Type {
	if n == nil {
		return types.DynType
	}
	switch n.Kind {
	case source.Bool:
		return types.BoolType
	case source.Int:
		return types.IntType
	case source.Float:
		return types.DoubleType
	case source.Text:
		return types.StringType
	case source.Interp:
		if len(n.Parts) == 1 {
			t, _ := unwrapped(d.expressions.infer(n.Parts[0].Expr, sc, at.where).t)
			return t
		}
		d.texts.textParts(n, sc, at.where)
		return types.StringType
	case source.List:
		var items []*types.Type
		for _, item := range n.Items {
			items = append(items, d.dataType(item, sc, site{at.where, at.name + "[]"}))
		}
		return types.NewListType(commonType(items))
	case source.Map:
		if t := d.mapType(n, sc, at); !n.Lacking {
			return t
		}
	}
	return types.DynType
}

// mapType returns the type of a map with these fields. If all entries have the
// same keys, they share one type.
func (d *declarations) mapType(n *source.Node, sc *expr.TypedScope, at site) *types.Type {
	if len(n.Fields) == 0 {
		return types.NewMapType(types.StringType, types.DynType)
	}
	o := &object{name: mark + at.name, fields: map[string]*types.Type{}}
	for _, f := range n.Fields {
		if f.Value.Kind != source.Null { // Null leaves the entry out.
			o.fields[f.Key.Value] = d.dataType(f.Value, sc, at.under(f.Key.Value))
		}
	}
	if shared := d.sharedType(n, at.name); shared != nil {
		for key := range o.fields {
			o.fields[key] = shared
		}
	}
	return d.all.declare(o)
}

// declare adds the type of a map.
func (u *universe) declare(o *object) *types.Type {
	o.entry = commonType(slices.Collect(maps.Values(o.fields)))
	u.objects[o.name] = o
	return types.NewObjectType(o.name)
}

// sharedType returns the type that the entries of a map share if all of them are maps
// with the same keys, or nil.
func (d *declarations) sharedType(n *source.Node, name string) *types.Type {
	var entries []*object
	for _, f := range n.Fields {
		o := d.all.objects[mark+name+"."+f.Key.Value]
		if f.Value.Kind != source.Map || o == nil || len(entries) > 0 && !slices.Equal(o.names(), entries[0].names()) {
			return nil
		}
		entries = append(entries, o)
	}
	shared := &object{name: mark + name + ".*", fields: map[string]*types.Type{}}
	for _, key := range entries[0].names() {
		var each []*types.Type
		for _, o := range entries {
			each = append(each, o.fields[key])
		}
		shared.fields[key] = commonType(each)
	}
	return d.all.declare(shared)
}

// commonType returns the type that all have, or dyn.
func commonType(all []*types.Type) *types.Type {
	if len(all) == 0 {
		return types.DynType
	}
	for _, t := range all[1:] {
		if !t.IsExactType(all[0]) {
			return types.DynType
		}
	}
	return all[0]
}

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
