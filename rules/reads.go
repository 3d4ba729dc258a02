package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/kstatus"
	"reconcel/rules/projection"
)

// lastApplied is the annotation in which kubectl keeps the whole object once more.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Reads are the fields that a program and the engine read of the objects of each kind.
// They never include metadata.managedFields and kubectl's copy of the object, which rules
// do not see.
type Reads struct{ primary, child, lookup roleReads }

// roleReads are the fields that are read of objects in a role.
type roleReads struct {
	kinds  map[schema.GroupVersionKind]*projection.Projection
	others *projection.Projection // of kinds that are not in the rules
}

// Primary returns what is read of the primaries of a kind.
func (r Reads) Primary(gvk schema.GroupVersionKind) *projection.Projection { return r.primary.of(gvk) }

// Child returns what is read of the children of a kind, also of one that the rules no
// longer render.
func (r Reads) Child(gvk schema.GroupVersionKind) *projection.Projection { return r.child.of(gvk) }

// Lookup returns what is read of the objects of a kind in lookups.
func (r Reads) Lookup(gvk schema.GroupVersionKind) *projection.Projection { return r.lookup.of(gvk) }

func (r roleReads) of(gvk schema.GroupVersionKind) *projection.Projection {
	if p := r.kinds[gvk]; p != nil {
		return p
	}
	return r.others
}

// VisibleToRules keeps everything but the fields that rules never see.
func VisibleToRules() *projection.Projection { return hide(projection.Whole()) }

func hide(p *projection.Projection) *projection.Projection {
	return p.Without("metadata", "managedFields").Without("metadata", "annotations", lastApplied)
}

// newObjectReads keeps what identifies any object.
func newObjectReads() *projection.Builder {
	b := &projection.Builder{}
	b.KeepFields("apiVersion", "kind")
	b.Field("metadata").KeepFields("name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "finalizers")
	return b
}

// newWholeMetadataReads also keeps what selectors of rules and lookups read.
func newWholeMetadataReads() *projection.Builder {
	b := newObjectReads()
	b.Field("metadata").KeepFields("ownerReferences", "labels", "annotations")
	return b
}

// newChildReads also keeps what says to whom a child belongs. Its controller is not part of it,
// because a cache keeps that in another form.
func newChildReads() *projection.Builder {
	b := newObjectReads()
	b.Below("metadata", "labels").KeepFields(LabelRule, LabelChild)
	b.Below("metadata", "annotations").KeepFields(AnnotationApplied, AnnotationInstallation, AnnotationOwner, AnnotationOrphan, AnnotationIndex,
		AnnotationRotate, AnnotationRotated)
	return b
}

// builders collect the reads of each kind in a role.
type builders struct {
	kinds map[schema.GroupVersionKind]*projection.Builder
	empty func() *projection.Builder // what is always read
}

func (bs builders) of(gvk schema.GroupVersionKind) *projection.Builder {
	if bs.kinds[gvk] == nil {
		bs.kinds[gvk] = bs.empty()
	}
	return bs.kinds[gvk]
}

func (bs builders) projections() roleReads {
	out := roleReads{kinds: make(map[schema.GroupVersionKind]*projection.Projection, len(bs.kinds)), others: hide(bs.empty().Projection())}
	for gvk, b := range bs.kinds {
		out.kinds[gvk] = hide(b.Projection())
	}
	return out
}

// computeReads traces all rules.
func (p *Program) computeReads() Reads {
	collect := func(empty func() *projection.Builder) builders {
		return builders{map[schema.GroupVersionKind]*projection.Builder{}, empty}
	}
	primaries, children, lookups := collect(newWholeMetadataReads), collect(newChildReads), collect(newWholeMetadataReads)
	for _, primary := range p.primaries {
		for _, r := range primary.Rules {
			t := &ruleTracer{rule: r, self: primaries.of(r.GVK), lets: map[int]*expr.Origin{}}
			for _, c := range r.Children {
				t.children = append(t.children, children.of(c.GVK))
			}
			for _, l := range r.Lookups {
				t.lookups = append(t.lookups, lookups.of(l.GVK))
			}
			t.trace()
		}
	}
	return Reads{primary: primaries.projections(), child: children.projections(), lookup: lookups.projections()}
}

// A ruleTracer collects what one rule reads.
type ruleTracer struct {
	rule     *Rule
	self     *projection.Builder
	children []*projection.Builder
	lookups  []*projection.Builder
	lets     map[int]*expr.Origin // traced ones
	child    int                  // the child being traced
	locals   map[string]*expr.Origin
}

func (t *ruleTracer) trace() {
	r := t.rule
	t.keep(r.when)
	for _, l := range r.Lookups {
		t.text(l.namespace)
		t.text(l.name)
		t.data(l.names).Keep()
		t.data(l.selector).Keep()
	}
	for i := range r.checks {
		t.keep(r.checks[i].prog)
		t.text(r.checks[i].message)
	}
	for i, c := range r.Children {
		t.traceChild(i, c)
	}
	if r.patch != nil {
		t.ops(r.patch.ops)
	}
	for _, f := range r.patched {
		t.self.Below(f.keys...).Keep() // The live value is compared with the patch.
	}
	t.traceStatus()
}

func (t *ruleTracer) traceStatus() {
	r := t.rule
	if r.status != nil {
		t.ops(r.status.ops)
	}
	status := t.self.Field("status")
	status.KeepFields("conditions")
	status.KeepFields(r.StatusKeys...) // The live value is compared with the status, or stays.
	for _, k := range r.conditions {
		t.enter(&k.loop)
		t.text(k.typ)
		t.keep(k.when)
		t.text(k.reason)
		t.text(k.message)
		t.locals = nil
	}
}

// traceChild traces an entry of children or finalize.
func (t *ruleTracer) traceChild(i int, c *Child) {
	live := t.children[i]
	kstatus.KeepInputs(c.GVK.GroupKind(), live)
	if c.GVK.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		live.Field("data").Keep() // Drift detection compares the values.
	}
	for _, p := range []*expr.Program{c.when, c.replicas, c.unavailable} {
		t.keep(p)
	}
	t.child = i
	for _, elements := range t.enter(&c.loop) {
		if c.keyed {
			elements.KeepField("name")
			elements.KeepField("metadata", "name")
		}
	}
	t.text(c.name)
	t.text(c.namespace)
	t.ops(c.body.ops)
	for _, f := range c.ignored {
		t.keep(f.when)
		t.ops(f.ops)
		live.Below(f.keys...).Keep() // An update repeats the live value.
	}
	t.keep(c.readyWhen)
	t.keep(c.failWhen)
	t.locals = nil
}

// enter traces the lists of forEach, and declares their elements, which it returns.
func (t *ruleTracer) enter(l *loop) (all []*expr.Origin) {
	t.locals = map[string]*expr.Origin{}
	names := make([]string, len(l.locals))
	for name, at := range l.locals {
		names[at] = name
	}
	for _, it := range l.iterators {
		elements := t.program(it.in).Any()
		all, t.locals[names[0]] = append(all, elements), elements
		if names = names[1:]; it.indexed {
			names = names[1:]
		}
	}
	return all
}

// variable returns the origin of a variable, as run.ResolveName returns its value.
func (t *ruleTracer) variable(name string) *expr.Origin {
	if name == self {
		return expr.ObjectOrigin(t.self)
	}
	if v, ok := t.rule.vars[name]; ok {
		switch v.kind {
		case definitionVariable:
			return nil // It is a constant.
		case letVariable:
			return t.let(v.index)
		case lookupVariable:
			object := expr.ObjectOrigin(t.lookups[v.index])
			if t.rule.Lookups[v.index].One() {
				return object
			}
			return expr.ListOrigin(object)
		}
		object := expr.ObjectOrigin(t.children[v.index])
		if v.kind == previousVariable || t.rule.Children[v.index].IsCollection() {
			return expr.ListOrigin(object)
		}
		return object
	}
	if o, ok := t.locals[name]; ok {
		return o
	}
	if name == child && t.locals != nil {
		return expr.ObjectOrigin(t.children[t.child])
	}
	return nil
}

// let traces a let once. Lets do not depend on the variables of a child.
func (t *ruleTracer) let(i int) *expr.Origin {
	if o, done := t.lets[i]; done {
		return o
	}
	locals := t.locals
	t.locals = nil
	l := t.rule.lets[i]
	o := t.program(l.prog)
	if l.data != nil {
		o = t.data(l.data)
	}
	t.lets[i], t.locals = o, locals
	return o
}

func (t *ruleTracer) program(p *expr.Program) *expr.Origin {
	if p == nil {
		return nil
	}
	return p.Trace(t.variable)
}

// keep traces an expression whose value is used.
func (t *ruleTracer) keep(p *expr.Program) { t.program(p).Keep() }

func (t *ruleTracer) text(x *text) {
	for _, p := range x.programs() {
		t.keep(p)
	}
}

func (t *ruleTracer) data(d *data) *expr.Origin {
	switch {
	case d == nil:
		return nil
	case d.prog != nil:
		return t.program(d.prog)
	case d.text != nil:
		t.text(d.text)
		return nil
	case d.let != nil:
		return t.let(d.let.index)
	case d.isMap:
		fields := map[string]*expr.Origin{}
		for _, e := range d.entries {
			fields[e.key] = t.data(e.value)
		}
		return expr.MapOrigin(fields)
	}
	var elements []*expr.Origin
	for _, e := range d.entries {
		elements = append(elements, t.data(e.value))
	}
	return expr.ListOrigin(elements...)
}

// ops traces a template, which writes its values.
func (t *ruleTracer) ops(ops []op) {
	for i := range ops {
		o := &ops[i]
		t.keep(o.prog)
		t.text(o.text)
		t.ops(o.ops)
		if o.secret != nil {
			t.data(o.secret.data).Keep()
			t.data(o.secret.plain).Keep()
		}
	}
}
