package expr

import (
	"cmp"
	"sync"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

// A TypedScope is a set of variables with types, for checks that are stricter than
// what evaluation needs. It is not safe for concurrent use.
type TypedScope struct {
	base     *environment
	provider types.Provider
	check    *checker.Env
	defined  *Definitions // or nil
}

// declarations are the functions of the language for the type checker.
var declarations = sync.OnceValues(func() (*checker.Env, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}
	env, err := checker.NewEnv(b.env.Container, b.env.CELTypeProvider(), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	if err := env.AddIdents(b.env.Variables()...); err != nil {
		return nil, err
	}
	for _, f := range b.declared {
		if err := env.AddFunctions(f); err != nil {
			return nil, err
		}
	}
	open, err := declareOpen()
	if err != nil {
		return nil, err
	}
	return env, env.AddFunctions(open)
})

// NewTypedScope returns an empty scope. A provider, which may be nil, returns types that
// CEL does not have.
func NewTypedScope(provider func(cel types.Provider) types.Provider) (*TypedScope, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}
	shared, err := declarations()
	if err != nil {
		return nil, err
	}
	all := b.env.CELTypeProvider()
	if provider != nil {
		all = provider(all)
	}
	return (&TypedScope{base: b, provider: all, check: shared}).Nested(), nil
}

// Nested returns a scope in which the variables of s are visible, also those that are
// declared later.
func (s *TypedScope) Nested() *TypedScope {
	env, err := checker.NewEnv(s.base.env.Container, s.provider, checker.ValidatedDeclarations(s.check),
		checker.CrossTypeNumericComparisons(true))
	if err != nil {
		panic(err) // No option of these fails.
	}
	return &TypedScope{base: s.base, provider: s.provider, check: env, defined: s.defined}
}

// Declare adds a variable. A second declaration of the same name has no effect.
func (s *TypedScope) Declare(name string, t *types.Type) {
	_ = s.check.AddIdents(decls.NewVariable(name, t))
}

// With returns a scope with one more function.
func (s *TypedScope) With(f *decls.FunctionDecl) (*TypedScope, error) {
	out := s.Nested()
	return out, out.check.AddFunctions(f)
}

// Parse parses an expression. It returns nil on an error.
func Parse(src *source.Expr) *ast.AST {
	b, err := base()
	if err != nil {
		return nil
	}
	parsed, _ := b.parse(src)
	return parsed
}

// parse parses an expression. It returns either issues or a result.
func (b *environment) parse(src *source.Expr) (*ast.AST, []Issue) {
	parsed, issues := b.env.Parse(src.Text)
	if issues.Err() != nil {
		return nil, b.issues(src, issues.Errors())
	}
	looseNulls(parsed.NativeRep())
	if issue := cmp.Or(readFiles(src, parsed.NativeRep()), unknownType(src, parsed.NativeRep())); issue != nil {
		return nil, []Issue{*issue}
	}
	return parsed.NativeRep(), nil
}

// Check infers the types of all nodes of a parsed expression, as far as it can if
// there are issues. It changes the parsed expression.
func (s *TypedScope) Check(src *source.Expr, parsed *ast.AST) (*ast.AST, []Issue) {
	checked, found := s.infer(common.NewTextSource(src.Text), parsed)
	return checked, s.defined.explain(s.base.issues(src, found.GetErrors()))
}

// looseNulls converts a null branch of a conditional to dyn. To CEL the branches of
// c ? null : "x" have different types, but null leaves a field out, so that this
// makes sense.
func looseNulls(a *ast.AST) {
	next := ast.MaxID(a) + 1
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Conditional {
			return
		}
		for _, side := range e.AsCall().Args()[1:] {
			if side.Kind() == ast.LiteralKind && side.AsLiteral() == types.NullValue {
				Wrap(a, side, "dyn", next)
				next++
			}
		}
	}))
}
