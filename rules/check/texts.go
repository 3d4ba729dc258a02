package check

import (
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// Texts checks values that must be text, and text that looks like something else.
type texts struct {
	*subject
	reporter    *reporter
	expressions *expressions
}

// text checks a value that must be text.
func (r *texts) text(n *source.Node, sc *expr.TypedScope, where string) {
	if n == nil || n.Kind != source.Interp {
		r.forgotten(n, where)
		return
	}
	if len(n.Parts) > 1 {
		r.textParts(n, sc, where)
		return
	}
	t := r.expressions.infer(n.Parts[0].Expr, sc, where)
	inner, _ := unwrapped(t.t)
	switch inner.Kind() {
	case types.DynKind, types.StringKind, types.TimestampKind, types.DurationKind:
	default:
		r.reporter.errorf(n.Parts[0].Expr.Pos, "%s: must be text, got %s", where,
			expr.TypeName(inner)).Hint = asTextHint(inner)
	}
}

// textParts checks the expressions that are parts of a text.
func (r *texts) textParts(n *source.Node, sc *expr.TypedScope, where string) {
	for _, p := range n.Parts {
		if p.Expr == nil {
			continue
		}
		t := r.expressions.infer(p.Expr, sc, where)
		inner, _ := unwrapped(t.t)
		switch inner.Kind() {
		case types.NullTypeKind:
			r.reporter.errorf(p.Expr.Pos, "%s: null cannot be part of text", where)
		case types.ListKind, types.MapKind, types.StructKind, types.BytesKind, types.TypeKind, types.OpaqueKind:
			r.reporter.errorf(p.Expr.Pos, "%s: a %s cannot be part of text", where,
				expr.TypeName(inner)).Hint = asTextHint(inner)
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

// forgotten warns about text that looks like an expression.
func (r *texts) forgotten(n *source.Node, where string) {
	if n == nil || n.Kind != source.Text || r.ledger.said[finding{n.Pos, ""}] {
		return
	}
	if meant := source.Forgotten(n.Literal().Value, r.objects.has); meant != "" {
		r.ledger.said[finding{n.Pos, ""}] = true // The data of a let is checked wherever it is used.
		r.reporter.warnf(lint.LiteralText, n.Pos, "%s: %q is literal text, not an expression", where,
			n.Literal().Value).Hint = "write " + meant
	}
}
