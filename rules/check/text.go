package check

import (
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// text checks a value that must be text.
func (r *rule) text(n *source.Node, sc *expr.TypedScope, where string) {
	if n == nil || n.Kind != source.Interp {
		r.forgotten(n, where)
		return
	}
	if len(n.Parts) > 1 {
		r.textParts(n, sc, where)
		return
	}
	t := r.infer(n.Parts[0].Expr, sc, where)
	inner, _ := unwrapped(t.t)
	switch inner.Kind() {
	case types.DynKind, types.StringKind, types.TimestampKind, types.DurationKind:
	default:
		r.errorf(n.Parts[0].Expr.Pos, "%s: must be text, got %s", where, expr.TypeName(inner)).Hint = asTextHint(inner)
	}
}

// textParts checks the expressions that are parts of a text.
func (r *rule) textParts(n *source.Node, sc *expr.TypedScope, where string) {
	for _, p := range n.Parts {
		if p.Expr == nil {
			continue
		}
		t := r.infer(p.Expr, sc, where)
		inner, _ := unwrapped(t.t)
		switch inner.Kind() {
		case types.NullTypeKind:
			r.errorf(p.Expr.Pos, "%s: null cannot be part of text", where)
		case types.ListKind, types.MapKind, types.StructKind, types.BytesKind, types.TypeKind, types.OpaqueKind:
			r.errorf(p.Expr.Pos, "%s: a %s cannot be part of text", where, expr.TypeName(inner)).Hint = asTextHint(inner)
		}
	}
}

// asTextHint suggests how to convert a value into text.
func asTextHint(t *types.Type) string {
	switch t.Kind() {
	case types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind:
		return "write string(...)"
	case types.StructKind, types.OpaqueKind:
		switch expr.TypeName(t) {
		case "quantity", "ip", "cidr":
			return "write string(...)"
		}
	}
	return ""
}
