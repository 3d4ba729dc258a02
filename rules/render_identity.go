package rules

import (
	"k8s.io/apimachinery/pkg/util/validation"
)

// identify computes the name and namespace of an object and finds the live one,
// even if the object has to wait.
func (r *expansion) identify(d *Desired) {
	outer := r.current
	r.current = d
	defer func() { r.current = outer }()
	name, res := r.texts.text(d.Child.name)
	if !res.ok() {
		r.settling.settle(d, d.Child.name.where, res)
		return
	}
	ns, ok := r.namespaceOf(d)
	if !ok {
		return
	}
	r.setIdentity(d, Identity{GVK: d.Child.GVK, Namespace: ns, Name: name})
	if d.Identity.Name != "" && r.in.Observed != nil {
		d.Done = r.liveObjects.doneBy(d.Identity)
		d.Live = r.liveObjects.recalled(d.Identity, r.in.Observed(d.Identity))
	}
}

// setIdentity sets the identity of an object if it is valid.
func (r *expansion) setIdentity(d *Desired, id Identity) {
	if why := illegalName(id.GVK.GroupKind(), id.Name); why != "" {
		r.failName(d, d.Child.name, why)
		return
	}
	d.Identity = id
	// Owner references do not cross namespaces.
	d.Tracked = d.Child.tracked || r.primary.namespace != "" && id.Namespace != r.primary.namespace
}

// namespaceOf computes the namespace of an object: by default the primary's own.
func (r *expansion) namespaceOf(d *Desired) (string, bool) {
	t := d.Child.namespace
	switch {
	case d.Child.allowed:
		if t != nil {
			r.failName(d, t, "the kind is in allow.clusterScoped, so its objects have no namespace")
			return "", false
		}
		return "", true
	case t == nil:
		return r.primary.home, true
	}
	ns, res := r.texts.text(t)
	if !res.ok() {
		r.settling.settle(d, t.where, res)
		return "", false
	}
	if why := r.illegalNamespace(ns); why != "" {
		r.failName(d, t, why)
		return "", false
	}
	return ns, true
}

// illegalNamespace returns why a child cannot be in a namespace, or "". Permission
// to create a primary must not imply permission to write to other namespaces.
func (r *expansion) illegalNamespace(ns string) string {
	switch {
	case len(validation.IsDNS1123Label(ns)) > 0:
		return "it is not the name of a namespace"
	case ns == r.primary.home || matchesAny(r.rule.allow.namespaces, ns):
		return ""
	case r.primary.home == "":
		return "the rule may not write there: allow.namespaces does not include it"
	}
	return "it is not the primary's namespace, and allow.namespaces does not include it"
}

// failName fails an object whose name or namespace is invalid.
func (r *expansion) failName(d *Desired, t *text, why string) {
	pos := t.pos
	if programs := t.programs(); len(programs) > 0 {
		pos = programs[0].Pos()
	}
	r.settling.settle(d, t.where, failedAt(pos, why))
}
