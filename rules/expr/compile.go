package expr

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	_ "time/tzdata" // Functions of time take names of time zones, and the image has no files of them.

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"

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
	// Inclusion is true or false, too: whether an object should exist.
	Inclusion
)

// wanted maps each type but Any to CEL's type and to its name in messages.
var wanted = map[Type]struct {
	kind   types.Kind
	phrase string
}{
	Bool:      {types.BoolKind, "true or false"},
	Inclusion: {types.BoolKind, "true or false"},
	Int:       {types.IntKind, "a whole number"},
	List:      {types.ListKind, "a list"},
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

// Names iterates over the variables in scope, in no order, but those of Definition.Variable.
func (s *Scope) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := s; at != nil; at = at.outer {
			for name := range at.names {
				if !isHidden(name) && !yield(name) {
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
	want  Type
	reads []string
	// inlined are the functions of define that it calls, or nil.
	inlined *Inlined
	// uses are the definitions that it names, and the values that their functions read.
	uses []*Definition
	// idCalls are the calls of functions of ids, in order.
	idCalls []idCall
}

// Check parses and checks one expression. It returns either issues or a result.
func (s *Scope) Check(src *source.Expr, want Type) (*Checked, []Issue) {
	parsed, issues := s.typed.base.parse(src)
	if issues != nil {
		return nil, issues[:1] // One mistake causes several syntax errors.
	}
	checked, issues := s.checkLoosely(src, parsed, func() *ast.AST { return Parse(src) })
	if issues != nil {
		return nil, issues
	}
	inlined := s.typed.Inline(src, checked)
	if inlined != nil {
		checked, issues = s.checkInlined(src, inlined)
	}
	if issues != nil {
		return nil, issues
	}
	c := &Checked{src: src, scope: s, ast: checked, want: want, inlined: inlined}
	if issue := wrongType(checked.GetType(checked.Expr().ID()), want); issue != nil {
		issue.Pos = src.At(1, 0)
		return nil, []Issue{*issue}
	}
	a := c.analyze(nil)
	c.reads = a.variables()
	c.uses = c.findUses()
	var out []Issue
	for _, d := range a.twice {
		out = append(out, Issue{Pos: Position(src, c.ast, d.id),
			Message: fmt.Sprintf("key %q is given twice", d.key)})
	}
	for _, id := range c.bytesKeys() {
		out = append(out, Issue{Pos: Position(src, c.ast, id), Message: "a key of a map cannot be of type bytes",
			Hint: "write a string"})
	}
	c.idCalls = slices.SortedFunc(maps.Values(a.idCalls), func(a, b idCall) int { return cmp.Compare(a.arg, b.arg) })
	for _, call := range c.idCalls {
		if call.id == "" {
			out = append(out, Issue{Pos: Position(src, c.ast, call.arg), Message: call.function.Takes(),
				Hint: call.function.Hint()})
		}
	}
	if out != nil {
		return nil, out
	}
	return c, nil
}

// bytesKeys returns the keys of map literals that are bytes. CEL would stop the process.
func (c *Checked) bytesKeys() (found []int64) {
	ast.PreOrderVisit(c.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.MapKind {
			return
		}
		for _, item := range e.AsMap().Entries() {
			if key := item.AsMapEntry().Key().ID(); c.ast.GetType(key).Kind() == types.BytesKind {
				found = append(found, key)
			}
		}
	}))
	return found
}

// checkLoosely checks a parsed expression. If it has sums of lists of several types, it
// checks what parse returns, which is the same expression.
func (s *Scope) checkLoosely(src *source.Expr, parsed *ast.AST, parse func() *ast.AST) (*ast.AST, []Issue) {
	checked, issues := s.typed.Check(src, parsed)
	if issues == nil {
		return checked, nil
	}
	again := parse()
	if looseLists(again, checked.TypeMap()) {
		checked, issues = s.typed.Check(src, again)
	}
	return checked, issues
}

// checkInlined checks an expression in which the functions of define are written out.
func (s *Scope) checkInlined(src *source.Expr, in *Inlined) (*ast.AST, []Issue) {
	if in.Issue != nil {
		return nil, []Issue{*in.Issue}
	}
	checked, issues := s.checkLoosely(src, in.AST(), in.AST)
	return checked, in.Explain(issues)
}

// wrongType complains about an expression that always gives another type. The type of
// most expressions is known only at run time.
func wrongType(t *cel.Type, want Type) *Issue {
	w, ok := wanted[want]
	if !ok || t.Kind() == types.DynKind || t.Kind() == w.kind {
		return nil
	}
	out := &Issue{Message: fmt.Sprintf("must be %s, but is of type %s", w.phrase, TypeName(t))}
	switch {
	case t.TypeName() == types.OptionalType.TypeName():
		out.Hint = "give it a default with orValue()"
	case want == Int && t.Kind() == types.UintKind:
		out.Hint = "write int(...)"
	}
	return out
}

// Reads returns the variables that the expression mentions, sorted.
func (c *Checked) Reads() []string { return c.reads }

// Uses returns the definitions that the expression names, and the values that their
// functions read.
func (c *Checked) Uses() []*Definition { return c.uses }

func (c *Checked) findUses() (uses []*Definition) {
	if c.inlined != nil {
		uses = slices.Clip(c.inlined.uses)
	}
	for _, name := range c.reads {
		if def := c.scope.typed.defined.FindVariable(name); def != nil && !slices.Contains(uses, def) {
			uses = append(uses, def)
		}
	}
	return uses
}

func (c *Checked) analyze(shapes map[string]*Shape) *analyzer {
	a := &analyzer{scope: c.scope, shapes: shapes, steps: map[int64]*step{}, ranges: map[int64]bool{},
		reads: map[string]bool{}, idCalls: map[int64]idCall{},
		calls: map[int64]ast.CallExpr{}, logic: map[int64]bool{}, needed: map[int64]bool{}}
	if c.want == Inclusion {
		a.noteNeeded(c.ast.Expr())
	}
	a.result = a.shape(c.ast.Expr())
	return a
}

// Program compiles the expression for variables of these shapes.
func (c *Checked) Program(shapes map[string]*Shape) (*Program, *Error) {
	a := c.analyze(shapes)
	if len(a.ranges) > 0 {
		return c.plan(a, &meter{c.scope.budget()})
	}
	return c.plan(a, nil) // It takes no more steps than its text has words.
}

// plan plans the evaluation of an expression. If it has loops, they stop when the context of
// the frame ends.
func (c *Checked) plan(a *analyzer, m *meter) (*Program, *Error) {
	a.prepare()
	b := c.scope.typed.base
	prog, err := b.env.PlanProgram(c.ast, cel.CustomDecoratorV2(decorate(a, b, m)), cel.EvalOptions(cel.OptOptimize),
		cel.InterruptCheckFrequency(1))
	if err != nil {
		if wrong := c.constantError(err); wrong != nil {
			return nil, wrong
		}
		// It fails if it is reached.
		prog, err = b.env.PlanProgram(c.ast, cel.CustomDecoratorV2(decorate(a, b, m)), cel.InterruptCheckFrequency(1))
	}
	if err != nil {
		return nil, &Error{Pos: c.src.At(1, 0), Message: err.Error()}
	}
	// The types and references of its nodes were for the plan.
	untyped := ast.NewAST(c.ast.Expr(), c.ast.SourceInfo())
	return &Program{src: c.src, ast: untyped, prog: prog, shape: a.result, reads: c.reads, uses: c.uses,
		path:    pathOf(c.ast.Expr(), b.env.CELTypeAdapter()),
		inlined: c.inlined, loops: len(a.ranges) > 0, budget: c.scope.budget()}, nil
}

const (
	// Expressions longer than this are a mistake, or an attack on the parser.
	maxExpression = 4096
	// One call of lists.range allocates its result before the budget counts it. mostRange is the
	// limit for rules with large collections.
	maxRange, mostRange = 500, 5000
)

// An environment is what all expressions share: the functions of the language,
// and the implementations of those that are guarded.
type environment struct {
	env       *cel.Env
	overloads map[string]*functions.Overload // by overload id and function name

	declared   map[string]*decls.FunctionDecl
	functions  []string        // the names of those that expressions can call, sorted
	namespaces map[string]bool // the parts of them before the last dot
}

// base is built once in a process. Building takes milliseconds, and adding the
// variables of a rule microseconds.
var base = sync.OnceValues(newEnvironment)

func newEnvironment() (*environment, error) {
	env, err := cel.NewEnv(
		cel.EagerlyValidateDeclarations(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.CrossTypeNumericComparisons(true),
		// Otherwise timestamps print in the machine's time zone.
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.OptionalTypes(),
		library.Quantity(), library.URLs(), library.Regex(), library.IP(), library.CIDR(),
		library.SemverLib(library.SemverVersion(1)), library.Format(), library.Lists(),
		ext.Strings(ext.StringsMaxPrecision(100)),
		ext.Math(), ext.Sets(), ext.Regex(), ext.Encoders(ext.EncodersVersion(0)), ext.Bindings(), ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsMaxRangeSize(mostRange)),
		cel.Lib(functionLibrary{}),
		words(),
	)
	if err != nil {
		return nil, err
	}
	e := &environment{env: env, declared: env.Functions(), overloads: map[string]*functions.Overload{},
		namespaces: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(e.declared)) {
		if strings.ContainsAny(name, "@_!-") {
			continue
		}
		e.functions = append(e.functions, name)
		if n := namespaceOf(name); n != "" {
			e.namespaces[n] = true
		}
	}
	for _, m := range env.Macros() {
		if !m.IsReceiverStyle() {
			e.functions = append(e.functions, m.Function())
		}
	}
	slices.Sort(e.functions)
	for _, declared := range e.declared {
		overloads, err := declared.Bindings()
		if err != nil {
			return nil, err
		}
		for _, o := range overloads {
			e.overloads[o.Operator] = o
		}
	}
	return e, nil
}

// CEL has a single NoSuchOverloadErr in the process, and records on it the position
// of the first expression that meets it, from any goroutine. Recording a position
// that no expression has, before anything runs, prevents the data race.
func init() { types.LabelErrNode(-1, types.NoSuchOverloadErr()) }
