package check

import (
	"fmt"
	"regexp"
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
			c.annotated[kindOf(r)] = true
		}
	}
	for written := range file.Written() {
		if len(written) == 1 {
			c.rule(written[0])
		} else {
			c.eachKind(written)
		}
	}
	return c.found
}

func newChecker(set *schema.Set, complaints source.Errors) (*checker, error) {
	c := &checker{
		set: set, all: newUniverse(set), ledger: newLedger(), lacked: map[source.Pos]bool{},
		annotated: map[runtimeschema.GroupVersionKind]bool{},
		broken:    map[source.Pos]bool{}, damages: map[string]damage{},
		defined: map[*syntax.Definitions]*definitions{},
	}
	for _, e := range complaints {
		c.broken[e.Pos] = true
		c.damages[e.Rule] = append(c.damages[e.Rule], e.Pos)
	}
	for _, d := range c.damages {
		slices.SortFunc(d, inFiles)
	}
	var err error
	c.empty, err = expr.NewTypedScope(func(cel types.Provider) types.Provider { return provider{cel, c.all} })
	return c, err
}

type checker struct {
	source.Suggester
	set   *schema.Set
	all   *universe
	empty *expr.TypedScope
	ledger
	copied int                 // the number of values in lets that were compared
	lacked map[source.Pos]bool // where one of the kinds of a rule lacks a field

	annotated map[runtimeschema.GroupVersionKind]bool // of which a rule asks for the annotation

	broken  map[source.Pos]bool // where loading the rules found errors
	damages map[string]damage   // the same by rule

	defined map[*syntax.Definitions]*definitions
	budget  expr.Budget // of all definitions
}

// A finding identifies what was found.
type finding struct {
	pos     source.Pos
	message string
}

// A rule is the state of checking one rule.
type rule struct {
	*checker
	src         *syntax.Rule
	kind        *schema.Kind     // of the primary, or nil
	primary     *fieldSchema     // likewise
	names       *expr.TypedScope // the variables
	definitions *definitions     // those beside the rule
	// declared are the names of the variables, and objects those of lookups and
	// children.
	declared, objects map[string]bool
	lets              map[string]*let
	entryOf           map[*source.Expr]*entry // of the expressions in lets that are maps
	typed             map[*source.Expr]*typed
	damage            damage
	prefix            string // of complaints, as the compiler writes it

	// excludable are the children that a when may exclude, by id.
	excludable map[string]*syntax.Child

	absences []*source.Error       // about what may be absent
	specless *source.Error         // the warning that the CRD does not require spec, or nil
	intact   map[*source.Expr]bool // what isIntact has found
	marked   map[*source.Node]bool // labels and annotations that were checked
}

func (c *checker) rule(src *syntax.Rule) {
	r := c.newRule(src)
	r.body()
	if r.unguarded() {
		return
	}
	r.sayAbsences()
}

// newRule returns a rule with its names declared.
func (c *checker) newRule(src *syntax.Rule) *rule {
	r := &rule{checker: c, src: src, definitions: c.definitions(src.Definitions), declared: map[string]bool{}, objects: map[string]bool{}, lets: map[string]*let{}, entryOf: map[*source.Expr]*entry{}, typed: map[*source.Expr]*typed{}, damage: c.damages[src.Name.Value], intact: map[*source.Expr]bool{}, marked: map[*source.Node]bool{}}
	r.names = r.definitions.scope.Nested()
	for _, def := range r.definitions.all {
		if !def.IsFunction() {
			r.declared[def.Name] = true
		}
	}
	r.declareNames()
	return r
}

// declareNames finds the types of all variables of the rule.
func (r *rule) declareNames() {
	if f := r.src.For; !f.Cluster {
		r.kind = r.known(f.APIVersion, f.Kind, f.Entry+".")
		r.declare("self", r.selfType())
	}
	if r.kind != nil {
		r.primary = r.all.root(r.kind)
	}
	for _, l := range r.src.Lookups {
		r.objects[l.ID.Value] = true
		r.prefix = l.Entry + ": "
		t := r.all.kindType(r.known(l.APIVersion, l.Kind, ""))
		if l.Name == nil {
			t = types.NewListType(t)
		}
		if !l.Unusable {
			r.declare(l.ID.Value, t)
		}
	}
	for _, ch := range r.entries() {
		r.objects[ch.ID.Value] = true
		r.prefix = ch.Entry + ": "
		t := r.all.kindType(r.childKind(ch))
		if !ch.Unusable {
			r.names.Declare(expr.Previous.Variable(ch.ID.Value), types.NewListType(t))
		}
		if ch.Replicas != nil || len(ch.ForEach) > 0 {
			t = types.NewListType(t)
		}
		if !ch.Unusable {
			r.declare(ch.ID.Value, t)
		}
	}
	r.prefix = ""
	for _, name := range r.src.Lost {
		if !r.declared[name] && syntax.IsName(name) {
			r.declare(name, types.DynType)
		}
	}
	for _, l := range r.src.Let {
		if !l.Unusable {
			r.lets[l.Name.Value] = &let{src: l}
		}
	}
	for _, l := range r.src.Let {
		r.let(l.Name.Value)
	}
}

func (r *rule) entries() []*syntax.Child {
	return append(r.src.Children[:len(r.src.Children):len(r.src.Children)], r.src.Finalize...)
}

func (r *rule) childKind(ch *syntax.Child) *schema.Kind {
	return r.known(ch.Template.At("apiVersion").Literal(), ch.Template.At("kind").Literal(), "template.")
}

// typeNames matches the names of our types in CEL's messages.
var typeNames = regexp.MustCompile(regexp.QuoteMeta(mark) + `[^,)' ]*`)

func (r *rule) complaint(pos source.Pos, format string, args ...any) *source.Error {
	message := typeNames.ReplaceAllString(fmt.Sprintf(format, args...), "object")
	return source.NewError(pos, r.src.Name.Value, r.prefix+message, "")
}

// errorf adds an error. One that several paths find is added once.
func (r *rule) errorf(pos source.Pos, format string, args ...any) *source.Error {
	e := r.complaint(pos, format, args...)
	return r.say(&r.found.Errors, e)
}

// warnf adds a warning of a named check.
func (r *rule) warnf(check string, pos source.Pos, format string, args ...any) *source.Error {
	e := r.complaint(pos, format, args...)
	e.Check = check
	return r.say(&r.found.Warnings, e)
}

func (c *checker) say(to *[]*source.Error, e *source.Error) *source.Error {
	key := finding{e.Pos, e.Message}
	if !c.said[key] && !c.broken[e.Pos] {
		c.said[key] = true
		*to = append(*to, e)
	}
	return e
}
