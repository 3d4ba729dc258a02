package check

import (
	"slices"
	"sync"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A typed expression has been checked. Its ast is nil if there were errors.
type typed struct {
	src *source.Expr
	ast *ast.AST
	t   *types.Type
	// locals are the variables that the expression declares, computed once.
	locals func() map[string]bool
}

func (t *typed) findLocals() map[string]bool {
	out := map[string]bool{}
	ast.PreOrderVisit(t.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			out[c.IterVar()], out[c.IterVar2()], out[c.AccuVar()] = true, true, true
		}
	}))
	return out
}

func (t *typed) typeOf(e ast.Expr) *types.Type { return t.ast.GetType(e.ID()) }

func (t *typed) pos(e ast.Expr) source.Pos { return expr.Start(t.src, t.ast, e) }

// Expressions finds the types of expressions.
type expressions struct {
	*subject
	reporter   *reporter
	kinds      *kinds
	operations *operations
}

// infer checks an expression once and returns its type: dyn after an error.
func (r *expressions) infer(src *source.Expr, sc *expr.TypedScope, where string) *typed {
	if t := r.typed[src]; t != nil {
		return t
	}
	out := &typed{src: src, t: types.DynType}
	r.typed[src] = out
	if r.damage.touches(src) {
		return out
	}
	parsed := expr.Parse(src)
	if parsed == nil {
		return out
	}
	checked, issues := r.checkLoosely(src, sc, parsed, func() *ast.AST { return expr.Parse(src) })
	if len(issues) == 0 {
		if in := sc.Inline(src, checked); in != nil && in.Issue == nil {
			checked, issues = r.checkLoosely(src, sc, in.AST(), in.AST)
			issues = in.Explain(issues)
		} else if in != nil {
			return out // Loading the rules has found it, too.
		}
	}
	if slices.ContainsFunc(issues, func(i expr.Issue) bool { return i.Undeclared != "" }) {
		return out // The name may belong to something that did not load.
	}
	for _, i := range issues {
		r.issue(i, checked, where)
	}
	if len(issues) == 0 {
		out.ast, out.locals = checked, sync.OnceValue(out.findLocals)
		out.t = checked.GetType(checked.Expr().ID())
		r.operations.compared(out, where)
		r.operations.constants(out, where)
	}
	return out
}

// checkLoosely checks a parsed expression. If objects or literals do not fit, it checks what
// parse returns, which is the same expression, with fewer of their types.
func (r *expressions) checkLoosely(src *source.Expr, sc *expr.TypedScope, parsed *ast.AST,
	parse func() *ast.AST) (*ast.AST, []expr.Issue) {
	checked, issues := sc.Check(src, parsed)
	known := checked.TypeMap()
	for level := literals; level <= everything && slices.ContainsFunc(issues, mayBeLoose); level++ {
		again := parse()
		loosened := loosen(again, known, r.all, level)
		checked, issues = withEntries(sc, loosened).Check(src, again)
	}
	return checked, issues
}

// checked returns an expression that CEL accepts, or nil.
func (r *expressions) checked(src *source.Expr) *typed {
	if t := r.typed[src]; t != nil && t.ast != nil {
		return t
	}
	return nil
}

// mayBeLoose reports whether an issue may be about objects that CEL does not accept
// as maps.
func mayBeLoose(i expr.Issue) bool { return i.Field == "" }

func (r *expressions) issue(i expr.Issue, checked *ast.AST, where string) {
	if i.Field == "" {
		r.reporter.errorf(i.Pos, "%s: %s", where, i.Message).Hint = i.Hint
		return
	}
	hint := i.Hint
	if e := expr.NodeOf(checked, i.Node); e != nil {
		if o := r.all.object(checked.GetType(expr.Operand(e).ID())); o != nil {
			hint = r.suggester.Suggest(i.Field, o.fieldNames())
			if hint == "" && o.whole && slices.Contains(ofMetadata, i.Field) {
				hint = "write metadata." + i.Field
			}
			hint = r.kinds.orNew(hint, o.schema)
		}
	}
	r.reporter.errorf(i.Pos, "%s: %sundefined field '%s'", where, i.Within, i.Field).Hint = hint
}

// ofMetadata are fields that people look for one level too high.
var ofMetadata = []string{"name", "namespace", "labels", "annotations", "uid", "generation", "ownerReferences"}

// phrases name the kinds of values that fields of rules hold.
var phrases = map[types.Kind]string{
	types.BoolKind: "true or false", types.IntKind: "a whole number", types.ListKind: "a list",
}

// want checks an expression that must be of one kind.
func (r *expressions) want(src *source.Expr, sc *expr.TypedScope, kind types.Kind, where string) {
	if src == nil {
		return
	}
	t := r.infer(src, sc, where)
	inner, optional := unwrapped(t.t)
	if inner.Kind() == types.DynKind || inner.Kind() == kind && !optional {
		return
	}
	e := r.reporter.errorf(src.Pos, "%s: must be %s, but is of type %s", where, phrases[kind], expr.TypeName(t.t))
	if optional {
		e.Hint = "give it a default with orValue()"
	}
}
