package expr

import (
	"slices"

	"github.com/google/cel-go/common/ast"
)

// Rename lets the expression read other variables: from names as written to the names of
// variables. Names that the expression declares itself keep their meaning.
func (c *Checked) Rename(names map[string]string) {
	r := renamer{ast: c.ast, make: ast.NewExprFactory(), names: names}
	r.visit(c.ast.Expr())
	c.reads = c.analyze(nil).variables()
}

// A renamer walks an expression with the names that it declares.
type renamer struct {
	ast    *ast.AST
	make   ast.ExprFactory
	names  map[string]string
	locals []string
}

func (r *renamer) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		r.ident(e)
	case ast.SelectKind:
		r.visit(e.AsSelect().Operand())
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			r.visit(e.AsCall().Target())
		}
		for _, arg := range e.AsCall().Args() {
			r.visit(arg)
		}
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			r.visit(item)
		}
	case ast.MapKind:
		for _, item := range e.AsMap().Entries() {
			r.visit(item.AsMapEntry().Key())
			r.visit(item.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, f := range e.AsStruct().Fields() {
			r.visit(f.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		r.comprehension(e.AsComprehension())
	}
}

func (r *renamer) ident(e ast.Expr) {
	name, found := r.names[e.AsIdent()]
	if !found || slices.Contains(r.locals, e.AsIdent()) {
		return
	}
	e.SetKindCase(r.make.NewIdent(e.ID(), name))
	r.ast.SetReference(e.ID(), ast.NewIdentReference(name, nil))
}

func (r *renamer) comprehension(c ast.ComprehensionExpr) {
	r.visit(c.IterRange())
	r.visit(c.AccuInit())
	outer := len(r.locals)
	r.locals = append(r.locals, c.AccuVar(), c.IterVar(), c.IterVar2())
	r.visit(c.LoopCondition())
	r.visit(c.LoopStep())
	r.locals = append(r.locals[:outer], c.AccuVar())
	r.visit(c.Result())
	r.locals = r.locals[:outer]
}
