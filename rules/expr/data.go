package expr

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/source"
)

// The data of a definition becomes an expression that gives the same value: a map or list,
// without what is absent, and texts. These functions do what no other function does.
// Expressions cannot name them.
const (
	// Present returns the entries of a map, or the items of a list, that are not absent.
	Present      = "@present"
	textFunction = "@text" // the parts of a list, as one text
)

func dataFunctions() []cel.EnvOption {
	dyn := cel.DynType
	data, list := cel.MapType(cel.StringType, dyn), cel.ListType(dyn) // Types that nest take the checker long.
	return []cel.EnvOption{
		cel.Function(Present,
			cel.Overload("@present_map", []*cel.Type{data}, data, cel.UnaryBinding(present)),
			cel.Overload("@present_list", []*cel.Type{list}, list, cel.UnaryBinding(present))),
		cel.Function(textFunction, cel.Overload("@text_list", []*cel.Type{list}, cel.StringType, cel.UnaryBinding(joined))),
	}
}

// node returns data as a part of the body.
func (c *definer) node(n *source.Node, where string) ast.Expr {
	at := inlinedAt{c.def, n.Pos}
	switch n.Kind {
	case source.Interp:
		return c.interp(n, where, at)
	case source.List:
		var items []ast.Expr
		for i, item := range n.Items {
			items = append(items, c.node(item, fmt.Sprintf("%s[%d]", where, i)))
		}
		return c.make.NewCall(c.id(at), Present, c.make.NewList(c.id(at), items, nil))
	case source.Map:
		var entries []ast.EntryExpr
		for _, f := range n.Fields {
			if f.Value.Kind == source.Null {
				continue // A null value omits its entry.
			}
			key := c.make.NewLiteral(c.id(inlinedAt{c.def, f.Key.Pos}), types.String(f.Key.Value))
			entries = append(entries, c.make.NewMapEntry(c.id(at), key, c.node(f.Value, Join(where, f.Key.Value)), false))
		}
		return c.make.NewCall(c.id(at), Present, c.make.NewMap(c.id(at), entries))
	}
	return c.make.NewLiteral(c.id(at), types.DefaultTypeAdapter.NativeToValue(n.Value))
}

// interp returns text with expressions, or one expression alone.
func (c *definer) interp(n *source.Node, where string, at inlinedAt) ast.Expr {
	var parts []ast.Expr
	for _, p := range n.Parts {
		if p.Expr == nil {
			parts = append(parts, c.make.NewLiteral(c.id(at), types.String(p.Text)))
		} else if e := c.expression(p.Expr, where); e != nil {
			parts = append(parts, e)
		}
	}
	if len(n.Parts) == 1 && len(parts) == 1 {
		return parts[0]
	}
	return c.make.NewCall(c.id(at), textFunction, c.make.NewList(c.id(at), parts, nil))
}

// present implements Present. Null in a map is absent, too.
func present(v ref.Val) ref.Val {
	switch v := v.(type) {
	case traits.Mapper:
		out := map[ref.Val]ref.Val{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if value, ok := Unwrap(v.Get(key)); ok && value != types.NullValue {
				out[key] = value
			}
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, out)
	case traits.Lister:
		out := []ref.Val{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			if value, ok := Unwrap(it.Next()); ok {
				out = append(out, value)
			}
		}
		return types.NewRefValList(types.DefaultTypeAdapter, out)
	}
	return noOverload()
}

// joined implements textFunction.
func joined(v ref.Val) ref.Val {
	parts, ok := v.(traits.Lister)
	if !ok {
		return noOverload()
	}
	var out []byte
	for it := parts.Iterator(); it.HasNext() == types.True; {
		part, why := PrintedText(it.Next())
		if why != "" {
			return failf("%s", why)
		}
		if out = append(out, part...); len(out) > maxOutput {
			return failf("the text is larger than %d KiB", maxOutput>>10)
		}
	}
	return types.String(out)
}
