package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/kstatus"
	"reconcel/rules/projection"
)

// A ruleTracer collects what one rule reads.
type ruleTracer struct {
	rule     *Rule
	self     *projection.Builder
	children []*projection.Builder
	lookups  []*projection.Builder
	lets     map[int]*expr.Origin // traced ones
	child    int                  // the child being traced
	locals   map[string]*expr.Origin
	graph    *grapher // records which part reads which other; may be nil
}

func (t *ruleTracer) trace() {
	r := t.rule
	t.begin(PrimaryPart, 0, Edge{When: true})
	t.keep(r.when)
	for i, l := range r.Lookups {
		t.begin(LookupPart, i, Edge{})
		t.text(l.namespace)
		t.text(l.name)
		t.data(l.names).Keep()
		t.data(l.selector).Keep()
	}
	t.begin(ValidatePart, 0, Edge{})
	for i := range r.checks {
		t.keep(r.checks[i].prog)
		t.text(r.checks[i].message)
	}
	for i, c := range r.Children {
		t.traceChild(i, c)
	}
	t.begin(PatchPart, 0, Edge{})
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
	t.begin(StatusPart, 0, Edge{})
	if r.status != nil {
		t.ops(r.status.ops)
	}
	status := t.self.Field("status")
	status.KeepFields("conditions")
	status.KeepFields(r.StatusKeys...) // The live value is compared with the status, or stays.
	for i, k := range r.conditions {
		t.begin(ConditionPart, i, Edge{})
		t.enter(&k.loop)
		t.text(k.typ)
		t.keep(k.when)
		t.text(k.reason)
		t.text(k.message)
		t.text(k.event)
		t.locals = nil
	}
}

// traceChild traces an entry of children or finalize.
func (t *ruleTracer) traceChild(i int, c *Child) {
	live := t.children[i]
	kstatus.KeepInputs(c.GVK.GroupKind(), live)
	if c.IsCollection() {
		keepOrder(live)
	}
	if c.GVK.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		live.Field("data").Keep() // Drift detection compares the values.
	}
	for _, f := range c.late() {
		live.Below(f...).Keep() // They are set when they are missing.
	}
	t.begin(ChildPart, i, Edge{When: true})
	t.keep(c.when)
	t.begin(ChildPart, i, Edge{})
	t.keep(c.replicas)
	t.keep(c.unavailable)
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
	t.begin(ChildPart, i, Edge{Ready: true})
	t.keep(c.readyWhen)
	t.keep(c.failWhen)
	t.locals = nil
}

// begin says which part of the rule is traced next, and in which role.
func (t *ruleTracer) begin(kind PartKind, i int, as Edge) {
	if t.graph != nil {
		t.graph.begin(t.graph.first[kind]+i, as)
	}
}

// keepOrder keeps what the objects of a list are sorted by.
func keepOrder(live *projection.Builder) {
	live.Field("metadata").KeepFields("name", "namespace", "creationTimestamp")
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
	t.graph.mention(name)
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
		if v.kind == previousVariable {
			keepOrder(t.children[v.index])
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
		t.graph.readLet(i)
		return o
	}
	locals, outer := t.locals, t.graph.enterLet(i)
	t.locals = nil
	l := t.rule.lets[i]
	o := t.program(l.prog)
	if l.data != nil {
		o = t.data(l.data)
	}
	t.graph.leaveLet(i, outer)
	t.lets[i], t.locals = o, locals
	return o
}

func (t *ruleTracer) program(p *expr.Program) *expr.Origin {
	if p == nil {
		return nil
	}
	t.graph.depend(p)
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
		o := t.let(d.let.index)
		t.graph.writeLet(d.let.index)
		return o
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
