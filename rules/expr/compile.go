package expr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

// A Type is the type that a field of a rule requires of an expression.
type Type int

// The types that fields of rules require.
const (
	Any Type = iota
	Bool
	Int
	List
)

// wanted maps each type but Any to CEL's type and to its name in messages.
var wanted = map[Type]struct {
	kind   types.Kind
	phrase string
}{
	Bool: {types.BoolKind, "true or false"},
	Int:  {types.IntKind, "a whole number"},
	List: {types.ListKind, "a list"},
}

// A Scope is the set of variables that an expression may use.
type Scope struct {
	base  *environment
	env   *cel.Env
	names []string
}

// NewScope returns the scope of these variables. It fails on a name that CEL
// reserves.
func NewScope(names ...string) (*Scope, error) {
	b, err := base()
	if err != nil {
		return nil, err
	}
	opts := make([]cel.EnvOption, len(names))
	for i, name := range names {
		opts[i] = cel.Variable(name, cel.DynType)
	}
	env, err := b.env.Extend(opts...)
	if err != nil {
		return nil, err
	}
	return &Scope{base: b, env: env, names: names}, nil
}

// IsType reports whether CEL has a type of that name, which a variable would hide.
func IsType(name string) bool {
	b, err := base()
	if err != nil {
		return false
	}
	_, ok := b.env.CELTypeProvider().FindIdent(name)
	return ok
}

// A Checked is an expression that CEL accepts. The shapes of its variables are not
// known yet.
type Checked struct {
	src   *source.Expr
	scope *Scope
	ast   *ast.AST
	cel   *cel.Ast
	reads []string
	// existing are the calls of existing(), in order.
	existing []existingCall
}

// Check parses and checks one expression. It returns either issues or a result.
func (s *Scope) Check(src *source.Expr, want Type) (*Checked, []Issue) {
	parsed, issues := s.env.Parse(src.Text)
	if issues.Err() != nil {
		return nil, s.issues(src, issues.Errors())[:1] // One mistake causes several syntax errors.
	}
	looseNulls(parsed.NativeRep())
	checked, issues := s.env.Check(parsed)
	if issues.Err() != nil {
		return nil, s.issues(src, issues.Errors())
	}
	c := &Checked{src: src, scope: s, ast: checked.NativeRep(), cel: checked}
	if issue := wrongType(checked.OutputType(), want); issue != nil {
		issue.Pos = src.At(1, 0)
		return nil, []Issue{*issue}
	}
	a := c.analyze(nil)
	for name := range a.reads {
		c.reads = append(c.reads, name)
	}
	slices.Sort(c.reads)
	var out []Issue
	for _, d := range a.twice {
		out = append(out, Issue{Pos: Position(src, c.ast, d.id),
			Message: fmt.Sprintf("key %q is given twice", d.key)})
	}
	for _, id := range a.misused {
		out = append(out, Issue{Pos: Position(src, c.ast, id), Message: ExistingTakes, Hint: "write its id alone, like existing(pods)"})
	}
	if out != nil {
		return nil, out
	}
	c.existing = slices.SortedFunc(maps.Values(a.existing), func(a, b existingCall) int { return cmp.Compare(a.arg, b.arg) })
	return c, nil
}

// wrongType complains about an expression that always gives another type. The type of
// most expressions is known only at run time.
func wrongType(t *cel.Type, want Type) *Issue {
	w, ok := wanted[want]
	if !ok || t.Kind() == types.DynKind || t.Kind() == w.kind {
		return nil
	}
	out := &Issue{Message: fmt.Sprintf("must be %s, but is of type %s", w.phrase, t)}
	if t.TypeName() == types.OptionalType.TypeName() {
		out.Hint = "give it a default with orValue()"
	}
	return out
}

// Reads returns the variables that the expression mentions, sorted.
func (c *Checked) Reads() []string { return c.reads }

func (c *Checked) analyze(shapes map[string]*Shape) *analyzer {
	vars := make(map[string]*Shape, len(c.scope.names))
	for _, name := range c.scope.names {
		vars[name] = shapes[name]
	}
	a := &analyzer{vars: vars, steps: map[int64]*step{}, ranges: map[int64]bool{}, reads: map[string]bool{}, existing: map[int64]existingCall{}}
	a.result = a.shape(c.ast.Expr())
	return a
}

// Program compiles the expression for variables of these shapes.
func (c *Checked) Program(shapes map[string]*Shape) (*Program, error) {
	a := c.analyze(shapes)
	for _, s := range a.steps {
		s.prepare()
	}
	b := c.scope.base
	opts := []cel.ProgramOption{cel.CustomDecoratorV2(decorate(a, b)), cel.EvalOptions(cel.OptOptimize)}
	if len(a.ranges) > 0 {
		opts = append(opts, metered()...)
	}
	prog, err := b.env.Program(c.cel, opts...)
	if err != nil {
		return nil, err
	}
	return &Program{src: c.src, ast: c.ast, prog: prog, shape: a.result, reads: c.reads, loops: len(a.ranges) > 0}, nil
}
