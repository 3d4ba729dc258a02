package expr

import (
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

// A TypedScope is a set of names whose types are known, for those who check
// expressions more closely than running them needs.
type TypedScope struct {
	scope *Scope
	check *checker.Env
}

// A TypeIssue is a complaint about an expression, and the node that it is about.
type TypeIssue struct {
	Issue
	Node int64
	// Field is the name of a field that is not there, or "".
	Field string
}

// declarations are the functions of the language for the type checker, made
// once.
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

// NewTypedScope returns the scope of these variables and functions. The
// provider is asked about types that CEL itself does not know.
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

// Parse parses an expression. It is nil if that is not possible.
func (s *TypedScope) Parse(src *source.Expr) *ast.AST {
	parsed, issues := s.scope.env.Parse(src.Text)
	if issues.Err() != nil {
		return nil
	}
	looseNulls(parsed.NativeRep())
	return parsed.NativeRep()
}

// Check finds the types of all nodes of a parsed expression, as far as it can
// where there are issues. It changes what it is given.
func (s *TypedScope) Check(src *source.Expr, parsed *ast.AST) (*ast.AST, []TypeIssue) {
	checked, found := checker.Check(parsed, common.NewTextSource(src.Text), s.check)
	var out []TypeIssue
	for _, e := range found.GetErrors() {
		if strings.Contains(e.Message, "!error!") {
			continue // It follows from another one.
		}
		alone := common.NewErrors(common.NewTextSource(src.Text)).Append([]*common.Error{e})
		for _, issue := range s.scope.issues(src, cel.NewIssues(alone)) {
			field, _ := quotedAfter(e.Message, "undefined field '")
			out = append(out, TypeIssue{Issue: issue, Node: e.ExprID, Field: field})
		}
	}
	return checked, out
}

// Place returns where a node of a checked expression stands in the file.
func Place(src *source.Expr, a *ast.AST, node int64) source.Pos {
	return positionOf(src, a.SourceInfo(), node)
}

// Start returns where an expression below a node begins: for a.b that is a,
// while Place is the dot.
func Start(src *source.Expr, a *ast.AST, e ast.Expr) source.Pos {
	for {
		switch {
		case e.Kind() == ast.SelectKind:
			e = e.AsSelect().Operand()
		case e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction():
			e = e.AsCall().Target()
		case isIndex(e):
			e = e.AsCall().Args()[0]
		default:
			return positionOf(src, a.SourceInfo(), e.ID())
		}
	}
}
