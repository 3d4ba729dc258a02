package expr

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/source"
)

// Rename lets the expression read other variables: from names as written to the names of
// variables. Names that the expression declares itself keep their meaning.
func (c *Checked) Rename(names map[string]string) {
	r := newRenamer(c.ast)
	r.names = names
	r.visit(c.ast.Expr())
	c.reads = c.analyze(nil).variables()
}

// A renamer walks an expression with the names that it declares.
type renamer struct {
	ast    *ast.AST
	make   ast.ExprFactory
	names  map[string]string
	loop   func(name string) string // the new name of a variable of a loop
	free   func(name string)        // it is called for names that the expression does not declare
	locals []string
}

func newRenamer(a *ast.AST) *renamer {
	return &renamer{ast: a, make: ast.NewExprFactory(), loop: func(name string) string { return name },
		free: func(string) {}}
}

func (r *renamer) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		r.ident(e)
	case ast.ComprehensionKind:
		r.comprehension(e)
	default:
		if e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() {
			r.free(e.AsCall().FunctionName())
		}
		for _, part := range Parts(e) {
			r.visit(part)
		}
	}
}

func (r *renamer) ident(e ast.Expr) {
	name, found := r.names[e.AsIdent()]
	if slices.Contains(r.locals, e.AsIdent()) {
		name, found = r.loop(e.AsIdent()), true
	} else {
		r.free(e.AsIdent())
	}
	if !found || name == e.AsIdent() {
		return
	}
	e.SetKindCase(r.make.NewIdent(e.ID(), name))
	r.ast.SetReference(e.ID(), ast.NewIdentReference(name, nil))
}

func (r *renamer) comprehension(e ast.Expr) {
	c := e.AsComprehension()
	r.visit(c.IterRange())
	r.visit(c.AccuInit())
	outer := len(r.locals)
	r.locals = append(r.locals, c.AccuVar(), c.IterVar(), c.IterVar2())
	r.visit(c.LoopCondition())
	r.visit(c.LoopStep())
	r.locals = append(r.locals[:outer], c.AccuVar())
	r.visit(c.Result())
	r.locals = r.locals[:outer]
	iter, iter2, accu := r.loop(c.IterVar()), c.IterVar2(), r.loop(c.AccuVar())
	if c.HasIterVar2() {
		iter2 = r.loop(iter2)
	}
	if iter != c.IterVar() || iter2 != c.IterVar2() || accu != c.AccuVar() {
		e.SetKindCase(r.make.NewComprehensionTwoVar(e.ID(), c.IterRange(), iter, iter2, accu, c.AccuInit(), c.LoopCondition(),
			c.LoopStep(), c.Result()))
	}
}

// Mentions returns the names that an expression uses and does not declare itself: of
// variables and functions, sorted. An expression that cannot be parsed has none.
func Mentions(src *source.Expr) []string {
	parsed := Parse(src)
	if parsed == nil {
		return nil
	}
	found := map[string]bool{}
	r := newRenamer(parsed)
	r.free = func(name string) { found[name] = true }
	r.visit(parsed.Expr())
	return slices.Sorted(maps.Keys(found))
}
