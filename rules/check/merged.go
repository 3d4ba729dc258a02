package check

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// An element is an element of a list that server-side apply merges, as far as its key is
// known.
type element struct {
	pos source.Pos
	// constant returns a field of the element, or with "" the element itself, as a text that
	// is the same for equal values. It is "" if the field is absent.
	constant func(field string) (text string, known bool)
}

// merged complains about elements that server-side apply takes for the same one. The API
// server rejects each apply of such a list.
func (w walker) merged(p *fieldSchema, elements []element, where string) {
	how, keys := schema.MergedBy(p.Schema)
	if how != "map" && how != "set" {
		return
	}
	list := where[strings.LastIndexByte(where, '.')+1:]
	seen := map[string]int{}
	for i, e := range elements {
		key, known := w.mergeKey(p, keys, e)
		if !known {
			continue
		}
		first, twice := seen[key]
		switch {
		case twice && how == "set":
			w.errorf(e.pos, "%s[%d]: is the same as %s[%d]: the API server rejects a set with an element that is there twice", where, i, list, first)
		case twice:
			w.errorf(e.pos, "%s[%d]: has the same %s as %s[%d]: the API server rejects the list", where, i, strings.Join(keys, " and "), list, first)
		default:
			seen[key] = i
		}
	}
}

// mergeKey returns what identifies an element of a list. Fields that are absent have their
// default.
func (w walker) mergeKey(p *fieldSchema, keys []string, e element) (string, bool) {
	if len(keys) == 0 {
		return e.constant("")
	}
	items := w.all.items(p)
	var key strings.Builder
	given := false
	for _, k := range keys {
		text, known := e.constant(k)
		if !known {
			return "", false
		}
		given = given || text != ""
		if f := items.Properties[k]; text == "" && f.Default != nil {
			text = fmt.Sprint(f.Default)
		}
		key.WriteString(text + step)
	}
	return key.String(), given
}

// unmergeable complains about a list that server-side apply cannot write: a set of maps or
// lists.
func (w walker) unmergeable(p *fieldSchema, pos source.Pos, where string) {
	if p == nil || p.is != list {
		return
	}
	how, _ := schema.MergedBy(p.Schema)
	if is := w.all.items(p).is; how == "set" && (is == fielded || is == mapping || is == list) {
		w.errorf(pos, "%s: is a set of %ss, which server-side apply cannot write", where, words[is]).Hint =
			"the CRD must say x-kubernetes-list-type: atomic"
	}
}

// elementsOf returns the elements of a list in a template.
func (w walker) elementsOf(n *source.Node) []element {
	out := make([]element, len(n.Items))
	for i, item := range n.Items {
		out[i] = element{item.Pos, func(field string) (string, bool) {
			inner := w.constantData(item)
			switch {
			case field == "":
				return constantText(inner)
			case inner == nil || inner.Kind != source.Map || inner.Lacking:
				return "", false
			}
			return fieldText(w.constantData(inner.At(field)))
		}}
	}
	return out
}

// constantData returns the data of the let that a node names, or the node itself.
func (w walker) constantData(n *source.Node) *source.Node {
	for range maxDepth {
		if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 {
			break
		}
		data := w.copiedData(n.Parts[0].Expr)
		if data == nil {
			break
		}
		n = data
	}
	return n
}

// constantText returns a value that is surely there as a text.
func constantText(n *source.Node) (string, bool) {
	if n == nil || n.Kind == source.Interp && len(n.Parts) == 1 {
		return "", false // It may be absent.
	}
	return fieldText(n)
}

// fieldText returns a value as a text that is the same for equal values. Expressions with
// the same text have the same value.
func fieldText(n *source.Node) (string, bool) {
	if n == nil || n.Kind == source.Null {
		return "", true
	}
	switch n.Kind {
	case source.Bool, source.Int, source.Float, source.Text:
		return fmt.Sprint(n.Value), true
	case source.Interp:
		var b strings.Builder
		for _, part := range n.Parts {
			b.WriteString(part.Text)
			if part.Expr != nil {
				b.WriteString("${" + strings.TrimSpace(part.Expr.Text) + "}")
			}
		}
		return b.String(), true
	}
	return "", false
}

// elementsIn returns the elements of a list in an expression. Only literals are known.
func elementsIn(t *typed, l ast.ListExpr) []element {
	out := make([]element, l.Size())
	for i, item := range l.Elements() {
		out[i] = element{t.pos(item), func(field string) (string, bool) {
			if field == "" {
				return literalText(item)
			}
			return literalField(item, field)
		}}
	}
	return out
}

// literalField returns a literal field of a map literal.
func literalField(e ast.Expr, field string) (string, bool) {
	if e.Kind() != ast.MapKind {
		return "", false
	}
	for _, item := range e.AsMap().Entries() {
		entry := item.AsMapEntry()
		key, literal := literalString(entry.Key())
		if !literal {
			return "", false
		}
		if key == field {
			text, known := literalText(entry.Value())
			return text, known && !entry.IsOptional()
		}
	}
	return "", true
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	return fmt.Sprint(e.AsLiteral().Value()), true
}
