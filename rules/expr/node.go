package expr

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

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

// EntryOf returns the value of an entry of the map that an expression gives, if the entry
// is written out: in a map, or in the last map of merge() that may have the key.
// Otherwise it returns nil.
func EntryOf(e ast.Expr, key string) ast.Expr {
	switch e.Kind() {
	case ast.MapKind:
		for _, item := range e.AsMap().Entries() {
			if name, ok := LiteralString(item.AsMapEntry().Key()); ok && name == key {
				return item.AsMapEntry().Value()
			}
		}
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case "dyn":
			return EntryOf(args[0], key)
		case "merge", "deepMerge":
			if found := EntryOf(args[1], key); found != nil || !hasKnownKeys(args[1]) {
				return found
			}
			return EntryOf(args[0], key)
		}
	}
	return nil
}

// hasKnownKeys reports whether an expression is a map whose keys are all literal.
func hasKnownKeys(e ast.Expr) bool {
	if e.Kind() != ast.MapKind {
		return false
	}
	return !slices.ContainsFunc(e.AsMap().Entries(), func(item ast.EntryExpr) bool {
		_, ok := LiteralString(item.AsMapEntry().Key())
		return !ok
	})
}

// Entry returns the value of an entry as an expression of its own, or nil if EntryOf does
// not know it.
func (c *Checked) Entry(key string) *Checked {
	e := EntryOf(c.ast.Expr(), key)
	if e == nil {
		return nil
	}
	out := &Checked{src: c.src, scope: c.scope}
	out.ast = ast.NewCheckedAST(ast.NewAST(e, c.ast.SourceInfo()), c.ast.TypeMap(), c.ast.ReferenceMap())
	out.reads = out.analyze(nil).variables()
	return out
}

// Literal returns the value of an expression that is a literal, or nil.
func (c *Checked) Literal() any {
	e := c.ast.Expr()
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	if s, ok := e.AsLiteral().(types.String); ok {
		return string(s)
	}
	return e.AsLiteral()
}
