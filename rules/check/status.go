package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// PrimaryStatus checks what is written into the status of the primary.
type primaryStatus struct {
	*subject
	reporter    *reporter
	expressions *expressions
	scalars     *scalars
	walking     *walking
}

func (r *primaryStatus) fields(sc *expr.TypedScope) {
	n := r.src.Status
	if n == nil {
		return
	}
	w := walker{walking: r.walking, sc: sc, partial: statusFields}
	var p *fieldSchema
	if r.primary != nil {
		p = r.all.field(r.primary, "status")
	}
	switch {
	case r.primary == nil:
	case !r.kind.Status:
		r.reporter.errorf(n.Pos, "status: %s has no status subresource, so its status cannot be written",
			r.kind.GVK.Kind).Hint =
			"add subresources: {status: {}} to its CRD"
	case p == nil && r.primary.open:
	case p == nil:
		r.reporter.errorf(n.Pos, "status: the schema of %s has no status, so the API server drops it", r.kind.GVK.Kind)
	}
	w.value(n, p, "status")
	r.loop(n, []string{"self", "status"})
}

// loop warns about fields of the status that are computed from themselves, so that
// each reconciliation changes them. Keeping a value is not a change.
func (r *primaryStatus) loop(n *source.Node, path []string) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		r.loop(f.Value, append(path[:len(path):len(path)], f.Key.Value))
	}
	for _, part := range n.Parts {
		t := r.expressions.checked(part.Expr)
		if t == nil {
			continue
		}
		if e := grows(t.ast.Expr(), path); e != nil || len(n.Parts) > 1 && isPath(t.ast.Expr(), path) {
			r.reporter.warnf(lint.StatusLoop, part.Expr.Pos, "%s: is computed from itself, so each reconciliation changes it",
				strings.Join(path[1:], ".")).Hint =
				"compute it from spec, children or lookups"
		}
	}
}

// grows returns an operation that changes the value of the path, or nil.
func grows(e ast.Expr, path []string) (found ast.Expr) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		switch c := e.AsCall(); c.FunctionName() {
		case operators.Add, operators.Subtract, operators.Multiply:
			if slices.ContainsFunc(c.Args(), func(arg ast.Expr) bool { return isPath(arg, path) }) {
				found = e
			}
		}
	}))
	return found
}

// isPath reports whether an expression reads this path, with or without a default.
func isPath(e ast.Expr, path []string) bool {
	for len(path) > 0 {
		last := path[len(path)-1]
		switch {
		case isCall(e, "orValue"):
			e = e.AsCall().Target()
			continue
		case isCall(e, "int"), isCall(e, "string"), isCall(e, "double"), isCall(e, "dyn"):
			e = e.AsCall().Args()[0]
			continue
		case e.Kind() == ast.IdentKind:
			return len(path) == 1 && e.AsIdent() == last
		case e.Kind() == ast.SelectKind:
			if e.AsSelect().FieldName() != last {
				return false
			}
			e = e.AsSelect().Operand()
		case isCall(e, operators.OptSelect), isCall(e, operators.Index), isCall(e, operators.OptIndex):
			if key, _ := expr.LiteralString(e.AsCall().Args()[1]); key != last {
				return false
			}
			e = e.AsCall().Args()[0]
		default:
			return false
		}
		path = path[:len(path)-1]
	}
	return false
}

// conditions checks that the status of the primary has conditions.
func (r *primaryStatus) conditions() {
	if len(r.src.Conditions) == 0 || r.primary == nil {
		return
	}
	pos := r.src.Conditions[0].Pos
	status := r.all.field(r.primary, "status")
	switch {
	case !r.kind.Status:
		r.reporter.errorf(pos, "conditions: %s has no status subresource, so conditions cannot be written", r.kind.GVK.Kind)
		return
	case status == nil && r.primary.open, status != nil && (status.open || status.is != fielded):
		return
	case status == nil || r.all.field(status, "conditions") == nil:
		r.reporter.errorf(pos, "conditions: the schema of %s has no status.conditions, so the API server drops them",
			r.kind.GVK.Kind)
		return
	}
	item := r.all.items(r.all.field(status, "conditions"))
	keyed := schema.HasOwners(r.set.Conditions(r.kind.GVK))
	for _, c := range r.src.Conditions {
		r.prefix = c.Entry + ": "
		if len(c.ForEach) > 0 && !keyed {
			r.reporter.errorf(c.ForEach[0].Pos, "forEach: the API server records no owner for each condition of %s, so that "+
				"of a removed element would stay", r.kind.GVK.Kind).Hint =
				"add x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type] to status.conditions in the CRD"
		}
		if t := c.Type.Literal(); t.Value != "" { // Without one, the parser has complained.
			if p := r.all.field(item, "type"); p != nil {
				r.scalars.text(t.Value, t.Pos, p, "type")
			}
		}
		if p := r.all.field(item, "reason"); p != nil && c.Reason != nil && c.Reason.Kind == source.Text {
			r.scalars.text(c.Reason.Literal().Value, c.Reason.Pos, p, "reason")
		}
	}
	r.prefix = ""
}

// reported checks where the state of the primary is reported.
func (r *primaryStatus) reported() {
	if r.kind == nil {
		return
	}
	name := r.kind.GVK.Kind
	hasConditions := r.set.Conditions(r.kind.GVK) != nil
	if r.src.Report.Value == syntax.ReportAnnotation && hasConditions && !schema.BuiltInGroup(r.kind.GVK.Group) {
		r.reporter.errorf(r.src.Report.Pos, "report: %s has status.conditions, so reconcel reports there and writes no "+
			"annotation", name).Hint = "remove report"
	}
	// The warning comes once for each kind: the API server would prune the conditions, so
	// that only Events show a failure. If the rule itself has conditions, that is an error already.
	if !r.kind.Custom || hasConditions || len(r.src.Conditions) > 0 || r.annotated[r.kind.GVK] ||
		slices.Contains(r.ledger.found.Unreported, r.kind.GVK) {
		return
	}
	r.reporter.warnf(lint.NoConditions, r.src.For.Kind.Pos,
		"%s.kind: %s has no status.conditions: reconcel cannot report on the resource", r.src.For.Entry, name).Hint =
		fmt.Sprintf("add to the CRD of %s what reconcel validate -v prints, or write report: annotation", name)
	r.ledger.found.Unreported = append(r.ledger.found.Unreported, r.kind.GVK)
}
