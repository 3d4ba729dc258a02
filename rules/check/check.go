package check

import (
	"slices"

	"github.com/google/cel-go/common/types"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Found is what a check finds, in no order: source.Collect sorts it.
type Found struct {
	Errors   []*source.Error // what cannot work
	Warnings []*source.Error // what fails for some objects
	Notes    []*source.Error // what could not be checked

	// Unreported are the kinds of primaries without status.conditions, which a
	// warning names.
	Unreported []runtimeschema.GroupVersionKind

	// ExcludedWith are the ids of the children whose exclusion excludes a child that reads them.
	ExcludedWith map[*syntax.Child][]string
}

// Check checks rules against the schemas of the kinds that they mention.
// Complaints are the errors of loading the same rules. Check does not repeat them.
func Check(file *syntax.File, set *schema.Set, complaints source.Errors) Found {
	c, err := newChecker(set, complaints)
	if err != nil {
		return Found{} // Loading the rules has failed, too.
	}
	for _, r := range file.Rules {
		if r.Report.Value == syntax.ReportAnnotation {
			c.annotated[gvkIn(&r.For)] = true
		}
	}
	for written := range file.Written() {
		if len(written) == 1 {
			c.rule(written[0])
		} else {
			c.eachKind(written)
		}
	}
	return c.ledger.found
}

func newChecker(set *schema.Set, complaints source.Errors) (*checker, error) {
	c := &checker{
		shared: shared{
			set: set, all: newUniverse(set), ledger: newLedger(map[source.Pos]bool{}),
			annotated: map[runtimeschema.GroupVersionKind]bool{},
		},
		lacked: map[source.Pos]bool{}, damages: map[string]damage{}, defined: map[*syntax.Definitions]*definitions{},
	}
	for _, e := range complaints {
		c.ledger.broken[e.Pos] = true
		c.damages[e.Rule] = append(c.damages[e.Rule], e.Pos)
	}
	for _, d := range c.damages {
		slices.SortFunc(d, inFiles)
	}
	var err error
	c.empty, err = expr.NewTypedScope(func(cel types.Provider) types.Provider { return provider{cel, c.all} })
	return c, err
}

// Shared is what the checks of all rules share.
type shared struct {
	set       *schema.Set
	all       *universe
	ledger    ledger
	suggester source.Suggester
	copied    int                                     // the number of values in lets that were compared
	annotated map[runtimeschema.GroupVersionKind]bool // of which a rule asks for the annotation
}

// A checker checks all rules.
type checker struct {
	shared
	empty   *expr.TypedScope
	lacked  map[source.Pos]bool // where one of the kinds of a rule lacks a field
	damages map[string]damage   // where loading the rules found errors, by rule
	defined map[*syntax.Definitions]*definitions
	budget  expr.Budget // of all definitions
}

func (c *checker) rule(src *syntax.Rule) {
	r := c.newRule(src)
	r.body.check()
	if !r.integrity.unguarded() {
		r.absences.say()
	}
}

func gvkIn(f *syntax.For) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(f.APIVersion.Value, f.Kind.Value)
}

// A provider adds the types of a universe to CEL's own.
type provider struct {
	types.Provider
	all *universe
}

// FindStructType returns the type of a name.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if o := p.all.objects[name]; o != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldType returns the type of a field.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	o := p.all.objects[name]
	if o == nil {
		return p.Provider.FindStructFieldType(name, field)
	}
	t := p.all.fieldType(o, field)
	return &types.FieldType{Type: t}, t != nil
}
