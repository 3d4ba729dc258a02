package expr

import (
	"cmp"
	"fmt"
	"iter"
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

// A Scope is the set of variables that an expression may use. Their types are not
// known.
type Scope struct {
	typed *TypedScope
	names map[string]bool
	outer *Scope // or nil
	most  int    // elements that lists.range may make
}

// NewScope returns the scope of these variables.
func NewScope(names ...string) (*Scope, error) {
	typed, err := NewTypedScope(nil)
	if err != nil {
		return nil, err
	}
	return newScope(typed, nil, names), nil
}

// ForObjects raises limits for a rule that may make so many objects of one child: lists.range makes as
// many elements, and the budget of loops grows in proportion, up to four times.
func (s *Scope) ForObjects(most int) *Scope {
	raised := *s
	raised.most = min(max(s.most, most), mostRange)
	return &raised
}

// budget returns what the loops of a rule may cost.
func (s *Scope) budget() uint64 {
	return min(budget*uint64(s.most)/maxRange, mostBudget)
}

// With returns a scope of these variables and those of s.
func (s *Scope) With(names ...string) *Scope { return newScope(s.typed.Nested(), s, names) }

func newScope(typed *TypedScope, outer *Scope, names []string) *Scope {
	s := &Scope{typed: typed, names: make(map[string]bool, len(names)), outer: outer, most: maxRange}
	if outer != nil {
		s.most = outer.most
	}
	for _, name := range names {
		s.names[name] = true
		typed.Declare(name, types.DynType)
	}
	return s
}

// has reports whether a variable is in scope.
func (s *Scope) has(name string) bool {
	return s != nil && (s.names[name] || s.outer.has(name))
}

// Names iterates over the variables in scope, in no order.
func (s *Scope) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := s; at != nil; at = at.outer {
			for name := range at.names {
				if !yield(name) {
					return
				}
			}
		}
	}
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
	reads []string
	// idCalls are the calls of functions of ids, in order.
	idCalls []idCall
}

// Check parses and checks one expression. It returns either issues or a result.
func (s *Scope) Check(src *source.Expr, want Type) (*Checked, []Issue) {
	parsed, issues := s.typed.base.parse(src)
	if issues != nil {
		return nil, issues[:1] // One mistake causes several syntax errors.
	}
	checked, issues := s.typed.Check(src, parsed)
	if issues != nil {
		again := Parse(src)
		if looseLists(again, checked.TypeMap()) {
			checked, issues = s.typed.Check(src, again)
		}
	}
	if issues != nil {
		return nil, issues
	}
	c := &Checked{src: src, scope: s, ast: checked}
	if issue := wrongType(checked.GetType(checked.Expr().ID()), want); issue != nil {
		issue.Pos = src.At(1, 0)
		return nil, []Issue{*issue}
	}
	a := c.analyze(nil)
	c.reads = a.variables()
	var out []Issue
	for _, d := range a.twice {
		out = append(out, Issue{Pos: Position(src, c.ast, d.id),
			Message: fmt.Sprintf("key %q is given twice", d.key)})
	}
	c.idCalls = slices.SortedFunc(maps.Values(a.idCalls), func(a, b idCall) int { return cmp.Compare(a.arg, b.arg) })
	for _, call := range c.idCalls {
		if call.id == "" {
			out = append(out, Issue{Pos: Position(src, c.ast, call.arg), Message: call.function.Takes(), Hint: call.function.Hint()})
		}
	}
	if out != nil {
		return nil, out
	}
	return c, nil
}

// wrongType complains about an expression that always gives another type. The type of
// most expressions is known only at run time.
func wrongType(t *cel.Type, want Type) *Issue {
	w, ok := wanted[want]
	if !ok || t.Kind() == types.DynKind || t.Kind() == w.kind {
		return nil
	}
	out := &Issue{Message: fmt.Sprintf("must be %s, but is of type %s", w.phrase, TypeName(t))}
	if t.TypeName() == types.OptionalType.TypeName() {
		out.Hint = "give it a default with orValue()"
	}
	return out
}

// Reads returns the variables that the expression mentions, sorted.
func (c *Checked) Reads() []string { return c.reads }

func (c *Checked) analyze(shapes map[string]*Shape) *analyzer {
	a := &analyzer{scope: c.scope, shapes: shapes, steps: map[int64]*step{}, ranges: map[int64]bool{}, reads: map[string]bool{}, idCalls: map[int64]idCall{}}
	a.result = a.shape(c.ast.Expr())
	return a
}

// Program compiles the expression for variables of these shapes.
func (c *Checked) Program(shapes map[string]*Shape) (*Program, error) {
	a := c.analyze(shapes)
	for _, s := range a.steps {
		s.prepare()
	}
	b := c.scope.typed.base
	opts := []cel.ProgramOption{cel.CustomDecoratorV2(decorate(a, b)), cel.EvalOptions(cel.OptOptimize)}
	if len(a.ranges) > 0 {
		opts = append(opts, metered(c.scope.budget())...)
	}
	prog, err := b.env.PlanProgram(c.ast, opts...)
	if err != nil {
		return nil, err
	}
	return &Program{src: c.src, ast: c.ast, prog: prog, shape: a.result, reads: c.reads, loops: len(a.ranges) > 0, budget: c.scope.budget()}, nil
}
