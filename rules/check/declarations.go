package check

import (
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
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
