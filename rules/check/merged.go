package check

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/expr"
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

// Merges checks lists that server-side apply merges.
type merges struct {
	*subject
	reporter *reporter
	follower *follower
}

// merged complains about elements that server-side apply takes for the same one. The API
// server rejects each apply of such a list.
func (m *merges) merged(p *fieldSchema, elements []element, where string) {
	how, keys := schema.MergedBy(p.resolved)
	if how != "map" && how != "set" {
		return
	}
	list := where[strings.LastIndexByte(where, '.')+1:]
	seen := map[string]int{}
	for i, e := range elements {
		key, known := m.mergeKey(p, keys, e)
		if !known {
			continue
		}
		first, twice := seen[key]
		switch {
		case twice && how == "set":
			m.reporter.errorf(e.pos, "%s[%d]: is the same as %s[%d]: the API server rejects a set with an element that is "+
				"there twice", where, i, list, first)
		case twice:
			m.reporter.errorf(e.pos, "%s[%d]: has the same %s as %s[%d]: the API server rejects the list", where, i,
				strings.Join(keys, " and "), list, first)
		default:
			seen[key] = i
		}
	}
}

// mergeKey returns what identifies an element of a list. Fields that are absent have their
// default.
func (m *merges) mergeKey(p *fieldSchema, keys []string, e element) (string, bool) {
	if len(keys) == 0 {
		return e.constant("")
	}
	items := m.all.items(p)
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
func (m *merges) unmergeable(p *fieldSchema, pos source.Pos, where string) {
	if p == nil || p.is != list {
		return
	}
	how, _ := schema.MergedBy(p.resolved)
	if is := m.all.items(p).is; how == "set" && (is == fielded || is == mapping || is == list) {
		m.reporter.errorf(pos, "%s: is a set of %ss, which server-side apply cannot write", where, words[is]).Hint =
			"the CRD must say x-kubernetes-list-type: atomic"
	}
}

// elementsOf returns the elements of a list in a template.
func (m *merges) elementsOf(n *source.Node) []element {
	out := make([]element, len(n.Items))
	for i, item := range n.Items {
		out[i] = element{item.Pos, func(field string) (string, bool) {
			inner := m.follower.constantData(item)
			switch {
			case field == "":
				return constantText(inner)
			case inner == nil || inner.Kind != source.Map || inner.Lacking:
				return "", false
			}
			return fieldText(m.follower.constantData(inner.At(field)))
		}}
	}
	return out
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
		key, literal := expr.LiteralString(entry.Key())
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
