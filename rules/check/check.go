package check

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/common/types"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

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
}

// Check checks rules against the schemas of the kinds that they mention.
// Complaints are the errors of loading the same rules. Check does not repeat them.
func Check(file *syntax.File, set *schema.Set, complaints source.Errors) Found {
	c := &checker{
		set: set, all: newUniverse(set), complaints: complaints,
		noted: map[runtimeschema.GroupVersionKind]bool{},
		said:  map[finding]bool{}, broken: map[source.Pos]bool{},
	}
	for _, e := range complaints {
		c.broken[e.Pos] = true
	}
	for _, r := range file.Rules {
		c.rule(r)
	}
	return c.found
}

type checker struct {
	set   *schema.Set
	all   *universe
	found Found
	noted map[runtimeschema.GroupVersionKind]bool // kinds without a schema
	said  map[finding]bool

	complaints source.Errors // errors of loading the rules
	broken     map[source.Pos]bool
}

// A finding identifies what was found.
type finding struct {
	pos     source.Pos
	message string
}

// A rule is the state of checking one rule.
type rule struct {
	*checker
	src     *syntax.Rule
	kind    *schema.Kind // of the primary, or nil
	primary *fieldSchema // likewise
	vars    map[string]*types.Type
	lets    map[string]*let
	typed   map[*source.Expr]*typed
	prefix  string // of complaints, as the compiler writes it

	absences []*source.Error // warnings about fields that may be absent
}

func (c *checker) rule(src *syntax.Rule) {
	r := &rule{checker: c, src: src, vars: map[string]*types.Type{}, lets: map[string]*let{}, typed: map[*source.Expr]*typed{}}
	r.names()
	r.body()
	if r.unguarded() {
		return
	}
	for _, e := range r.absences {
		r.say(&r.found.Warnings, e)
	}
}

// names finds the types of all variables of the rule.
func (r *rule) names() {
	f := r.src.For
	r.kind = r.known(f.APIVersion, f.Kind, "for.")
	r.vars["self"] = r.all.kindType(r.kind)
	if r.kind != nil {
		r.primary = r.all.root(r.kind)
	}
	for _, l := range r.src.Lookups {
		r.prefix = l.Entry + ": "
		t := r.all.kindType(r.known(l.APIVersion, l.Kind, ""))
		if l.Name == nil {
			t = types.NewListType(t)
		}
		if !l.Unusable {
			r.vars[l.ID.Value] = t
		}
	}
	for _, ch := range r.entries() {
		r.prefix = ch.Entry + ": "
		t := r.all.kindType(r.childKind(ch))
		if ch.Replicas != nil || len(ch.ForEach) > 0 {
			t = types.NewListType(t)
		}
		if !ch.Unusable {
			r.vars[ch.ID.Value] = t
		}
	}
	r.prefix = ""
	for _, name := range r.src.Lost {
		if r.vars[name] == nil && syntax.IsName(name) {
			r.vars[name] = types.DynType
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

func (r *rule) warnf(pos source.Pos, format string, args ...any) *source.Error {
	e := r.complaint(pos, format, args...)
	return r.say(&r.found.Warnings, e)
}

func (r *rule) say(to *[]*source.Error, e *source.Error) *source.Error {
	key := finding{e.Pos, e.Message}
	if !r.said[key] && !r.broken[e.Pos] {
		r.said[key] = true
		*to = append(*to, e)
	}
	return e
}
