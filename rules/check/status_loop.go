package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// statusLoop warns about fields of the status that are computed from themselves, so that
// each reconciliation changes them. Keeping a value is not a change.
func (r *rule) statusLoop(n *source.Node, path []string) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		r.statusLoop(f.Value, append(path[:len(path):len(path)], f.Key.Value))
	}
	for _, part := range n.Parts {
		t := r.checked(part.Expr)
		if t == nil {
			continue
		}
		if e := grows(t.ast.Expr(), path); e != nil || len(n.Parts) > 1 && isPath(t.ast.Expr(), path) {
			r.warnf(lint.StatusLoop, part.Expr.Pos, "%s: is computed from itself, so each reconciliation changes it", strings.Join(path[1:], ".")).Hint =
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
			if key, _ := literalString(e.AsCall().Args()[1]); key != last {
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
