package expr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"reconcel/rules/source"
)

// A Definition is a named value or function that rules share.
//
// A value is computed once. A function is a macro: a call stands for the text of the
// function with the arguments in place of the parameters. So what a call reads, waits for
// and costs is what this text does, and none of the walks over expressions has to know it.
type Definition struct {
	Name   string
	Pos    source.Pos
	Digest source.Digest // of its text; once it is added, of what it uses too
	Params []Param       // none: it is a value

	result *types.Type
	value  ref.Val // of a value
	body   *body
	lost   bool // it has errors, or uses a definition that has some
}

// A Param is a parameter of a function.
type Param struct {
	Name string
	Type string // as written: one of the keys of paramTypes
}

// paramTypes are the types of parameters by their names.
var paramTypes = map[string]*types.Type{
	"string": types.StringType, "int": types.IntType, "double": types.DoubleType, "bool": types.BoolType,
	"list": types.NewListType(types.DynType), "map": types.NewMapType(types.StringType, types.DynType),
	"dyn": types.DynType,
}

// IsFunction reports whether the definition is a function.
func (d *Definition) IsFunction() bool { return len(d.Params) > 0 }

// Signature returns the name of the definition with its parameters.
func (d *Definition) Signature() string {
	if !d.IsFunction() {
		return d.Name
	}
	return d.Name + "(" + d.params() + ")"
}

// Result returns the type of the value, or of the result of the function.
func (d *Definition) Result() *types.Type { return d.result }

// Uses returns the definitions that it names.
func (d *Definition) Uses() []*Definition { return d.body.uses }

// DigestsOf returns the digests of definitions in the order of their names.
func DigestsOf(all []*Definition) (digests []source.Digest) {
	for _, d := range slices.SortedFunc(slices.Values(all),
		func(a, b *Definition) int { return cmp.Compare(a.Name, b.Name) }) {
		digests = append(digests, d.Digest)
	}
	return digests
}

// Value returns the value of a definition that is not a function.
func (d *Definition) Value() ref.Val { return d.value }

// Expressions returns the expressions that a definition is made of.
func (d *Definition) Expressions() []*source.Expr { return d.body.sources }

func (d *Definition) params() string {
	var params []string
	for _, p := range d.Params {
		params = append(params, p.Name+" "+p.Type)
	}
	return strings.Join(params, ", ")
}

// Variable returns the variable in which functions read a value. Expressions cannot name
// it, so no variable of theirs hides it.
func (d *Definition) Variable() string { return hiding + d.Name + ")" }

const hiding = "define("

func isHidden(variable string) bool { return strings.HasPrefix(variable, hiding) }

// variableOf returns the name of a parameter in the text that replaces a call.
func (d *Definition) variableOf(name string) string { return "@" + d.Name + "(" + name + ")" }

// loopVariableOf returns the name of a variable of a loop in the text that replaces a call. It differs from that of a
// parameter of the same name, which it hides.
func (d *Definition) loopVariableOf(name string) string { return "@" + d.Name + "(loop " + name + ")" }

// Definitions are those of one document. They are not safe for concurrent use.
type Definitions struct {
	all    []*Definition // in the order of their dependencies
	named  map[string]*Definition
	values map[string]*Definition // by the variables that read them
	scope  *Scope                 // of the definitions
	budget *Budget
}

// NewDefinitions returns no definitions. Those that are added later share a budget.
func NewDefinitions(b *Budget) (*Definitions, error) {
	scope, err := NewScope()
	if err != nil {
		return nil, err
	}
	d := &Definitions{named: map[string]*Definition{}, values: map[string]*Definition{}, scope: scope, budget: b}
	scope.typed.defined = d
	return d, nil
}

// All returns the definitions, each after those that it uses.
func (d *Definitions) All() []*Definition {
	if d == nil {
		return nil
	}
	return d.all
}

// Find returns the definition of a name, or nil.
func (d *Definitions) Find(name string) *Definition {
	if d == nil {
		return nil
	}
	return d.named[name]
}

// FindVariable returns the definition of the value in a variable, or nil.
func (d *Definitions) FindVariable(name string) *Definition {
	if d == nil {
		return nil
	}
	return d.values[name]
}

// NewScope returns the scope of the definitions and of these variables.
func (d *Definitions) NewScope(names ...string) *Scope { return d.scope.With(names...) }

// Lose declares the name of a definition that could not be read, so that expressions that
// use it have no errors of their own.
func (d *Definitions) Lose(def *Definition) {
	def.result, def.value, def.body, def.lost = types.DynType, types.NullValue, lostBody(), true
	_ = d.add(def)
}

// add declares a definition that is complete.
func (d *Definitions) add(def *Definition) error {
	d.all = append(d.all, def)
	d.named[def.Name] = def
	if !def.IsFunction() {
		for _, name := range []string{def.Name, def.Variable()} {
			d.scope.names[name] = true
			d.values[name] = def
		}
	}
	return d.scope.typed.declareDefinition(def)
}

// Define declares definitions in a scope.
func (s *TypedScope) Define(d *Definitions) error {
	if d == nil {
		return nil
	}
	s.defined = d
	for _, def := range d.all {
		if err := s.declareDefinition(def); err != nil {
			return err
		}
	}
	return nil
}

func (s *TypedScope) declareDefinition(def *Definition) error {
	if !def.IsFunction() {
		s.Declare(def.Name, def.result)
		s.Declare(def.Variable(), def.result)
		return nil
	}
	var params []*types.Type
	for _, p := range def.Params {
		params = append(params, paramTypes[p.Type])
	}
	f, err := decls.NewFunction(def.Name, decls.Overload(def.Variable(), params, def.result))
	if err != nil {
		return err
	}
	return s.check.AddFunctions(f)
}

// IsFunction reports whether the language has a function of that name.
func IsFunction(name string) bool {
	b, err := base()
	if err != nil {
		return false
	}
	return slices.Contains(b.functions, name) || usages[name] != ""
}

// explain adds to issues what the definitions say about them.
func (d *Definitions) explain(issues []Issue) []Issue {
	if d == nil {
		return issues
	}
	for n := range issues {
		i := &issues[n]
		def := d.named[i.subject()]
		switch {
		case def == nil && len(i.Function) >= briefName:
			i.Hint = cmp.Or(d.budget.Suggest(i.Function, maps.Keys(d.named)), i.Hint)
		case def == nil:
		case i.Undeclared != "":
			i.Hint = "it is a function: write " + def.Name + "(...)"
		case !def.IsFunction() && def.lost:
			i.Follows = true // Its parameters could not be read.
		case !def.IsFunction():
			i.Hint = "it is a value: write " + def.Name + ", without ()"
		default:
			i.Message = fmt.Sprintf("%s() takes (%s), not (%s)", def.Name, def.params(), strings.Join(i.arguments, ", "))
			i.Hint = fmt.Sprintf("it is defined at %s", def.Pos)
		}
	}
	return issues
}

// subject returns the name that an issue is about: of a function, or an undeclared one.
func (i *Issue) subject() string { return cmp.Or(i.Function, i.called, i.Undeclared) }
