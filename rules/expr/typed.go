package expr

import (
	"sync"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

// A TypedScope is a set of variables with types, for checks that are stricter than
// what evaluation needs.
type TypedScope struct {
	scope *Scope
	check *checker.Env
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
	for _, f := range b.env.Functions() {
		if err := env.AddFunctions(f); err != nil {
			return nil, err
		}
	}
	return env, nil
})

// NewTypedScope returns the scope of these variables and functions. The provider
// returns types that CEL does not have.
func NewTypedScope(provider func(cel types.Provider) types.Provider, vars map[string]*types.Type, functions ...*decls.FunctionDecl) (*TypedScope, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}
	shared, err := declarations()
	if err != nil {
		return nil, err
	}
	env, err := checker.NewEnv(b.env.Container, provider(b.env.CELTypeProvider()),
		checker.ValidatedDeclarations(shared), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	s := &TypedScope{scope: &Scope{base: b, env: b.env}, check: env}
	for name, t := range vars {
		s.scope.names = append(s.scope.names, name)
		if err := env.AddIdents(decls.NewVariable(name, t)); err != nil {
			return nil, err
		}
	}
	return s, env.AddFunctions(functions...)
}

// Parse parses an expression. It returns nil on an error.
func (s *TypedScope) Parse(src *source.Expr) *ast.AST {
	parsed, issues := s.scope.env.Parse(src.Text)
	if issues.Err() != nil {
		return nil
	}
	looseNulls(parsed.NativeRep())
	return parsed.NativeRep()
}

// Check infers the types of all nodes of a parsed expression, as far as it can if
// there are issues. It changes the parsed expression.
func (s *TypedScope) Check(src *source.Expr, parsed *ast.AST) (*ast.AST, []Issue) {
	checked, found := checker.Check(parsed, common.NewTextSource(src.Text), s.check)
	return checked, s.scope.issues(src, found.GetErrors())
}
