package check

import (
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/define"
	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Declarations are the names that expressions of a rule can read, with their types.
type declarations struct {
	*subject
	kinds       *kinds
	expressions *expressions
	texts       *texts
}

// declareAll finds the types of all variables of the rule.
func (d *declarations) declareAll() {
	d.names = d.definitions.scope.Nested()
	for _, def := range d.definitions.all {
		if !def.IsFunction() {
			d.declared[def.Name] = true
		}
	}
	if f := d.src.For; !f.Cluster {
		d.kind = d.kinds.known(f.APIVersion, f.Kind, f.Entry+".")
		d.declare("self", d.selfType())
	}
	if d.kind != nil {
		d.primary = d.all.root(d.kind)
	}
	for _, l := range d.src.Lookups {
		d.objects[l.ID.Value] = true
		d.prefix = l.Entry + ": "
		t := d.all.kindType(d.kinds.known(l.APIVersion, l.Kind, ""))
		if l.Name == nil {
			t = types.NewListType(t)
		}
		if !l.Unusable {
			d.declare(l.ID.Value, t)
		}
	}
	for _, ch := range slices.Concat(d.src.Children, d.src.Finalize) {
		d.objects[ch.ID.Value] = true
		d.prefix = ch.Entry + ": "
		t := d.all.kindType(d.kinds.childKind(ch))
		if !ch.Unusable {
			d.names.Declare(expr.Previous.Variable(ch.ID.Value), types.NewListType(t))
		}
		if ch.Replicas != nil || len(ch.ForEach) > 0 {
			t = types.NewListType(t)
		}
		if !ch.Unusable {
			d.declare(ch.ID.Value, t)
		}
	}
	d.prefix = ""
	for _, name := range d.src.Lost {
		if !d.declared[name] && syntax.IsName(name) {
			d.declare(name, types.DynType)
		}
	}
	for _, l := range d.src.Let {
		if !l.Unusable {
			d.lets[l.Name.Value] = &let{src: l}
		}
	}
	for _, l := range d.src.Let {
		d.let(l.Name.Value)
	}
}

// declare adds a variable to those of the rule.
func (d *declarations) declare(name string, t *types.Type) {
	d.declared[name] = true
	d.names.Declare(name, t)
}

// Definitions are those of one document.
type definitions struct {
	all   []*expr.Definition
	scope *expr.TypedScope        // that declares them
	data  map[string]*source.Node // of values that are data
}

// definitions compiles the definitions of a document once. Loading the rules has found their
// errors.
func (c *checker) definitions(src *syntax.Definitions) *definitions {
	if d := c.defined[src]; d != nil {
		return d
	}
	defined, _ := define.Compile(src, &c.budget)
	d := &definitions{all: defined.All(), scope: c.empty.Nested(), data: map[string]*source.Node{}}
	if src != nil {
		for _, def := range src.All {
			if len(def.Params) == 0 {
				d.data[def.Name.Value] = def.Data
			}
		}
	}
	if err := d.scope.Define(defined); err != nil {
		d.scope = c.empty // Loading the rules has failed, too.
	}
	c.defined[src] = d
	return d
}

// A Definition describes a definition for editors.
type Definition struct {
	Name       string
	Signature  string // with the types of the parameters
	IsFunction bool
	Result     Type
}

// Definitions returns the definitions that the expressions of the rule can use.
func (s *Scope) Definitions() (all []Definition) {
	for _, d := range s.rule.definitions.all {
		all = append(all, Definition{d.Name, d.Signature(), d.IsFunction(), s.rule.all.typed(d.Result())})
	}
	return all
}
