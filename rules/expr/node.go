package expr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/source"
)

// NodeOf returns the node with an id, or nil.
func NodeOf(a *ast.AST, id int64) ast.Expr {
	var out ast.Expr
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id {
			out = e
		}
	}))
	return out
}

// Operand returns what a step selects from, and any other node itself.
func Operand(e ast.Expr) ast.Expr {
	switch {
	case e.Kind() == ast.SelectKind:
		return e.AsSelect().Operand()
	case isIndex(e):
		return e.AsCall().Args()[0]
	}
	return e
}

// isIndex reports whether a node is a[b], a[?b] or a.?b.
func isIndex(node ast.Expr) bool {
	if node.Kind() != ast.CallKind {
		return false
	}
	switch node.AsCall().FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		return true
	}
	return false
}

// IsBind reports whether a comprehension only declares a variable: cel.bind and optMap
// are loops over an empty list.
func IsBind(c ast.ComprehensionExpr) bool {
	return c.IterRange().Kind() == ast.ListKind && c.IterRange().AsList().Size() == 0
}

// Position returns the position of a node in the file.
func Position(src *source.Expr, a *ast.AST, id int64) source.Pos {
	at := a.SourceInfo().GetStartLocation(id)
	if at.Line() < 1 {
		return src.At(1, 0)
	}
	return src.At(at.Line(), max(0, at.Column()))
}

// Start returns the position at which the text of a node begins: for a.b that of a,
// where Position returns that of the dot.
func Start(src *source.Expr, a *ast.AST, e ast.Expr) source.Pos {
	if e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() {
		return Start(src, a, e.AsCall().Target())
	}
	if from := Operand(e); from != e {
		return Start(src, a, from)
	}
	return Position(src, a, e.ID())
}

// Wrap puts a call around a node. The call gets the node's id, and the node the new
// one.
func Wrap(a *ast.AST, e ast.Expr, function string, id int64) {
	factory := ast.NewExprFactory()
	inner := factory.NewUnspecifiedExpr(id)
	inner.SetKindCase(e)
	if at, ok := a.SourceInfo().GetOffsetRange(e.ID()); ok {
		a.SourceInfo().SetOffsetRange(id, at)
	}
	e.SetKindCase(factory.NewCall(e.ID(), function, inner))
}
