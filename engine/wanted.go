package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// An objectKey identifies an object independently of the version of its kind.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// wants reports whether any rule renders the object for this primary, or would
// render it without an error or a wait. It ignores the version of the kind,
// because all versions show the same objects.
func (p *pass) wants(id rules.Identity) bool {
	if p.wanted != nil {
		return p.wanted[keyOf(id)]
	}
	if len(p.memory.children) > few {
		p.wanted = map[objectKey]bool{}
	}
	for i := range p.rendering.Rules {
		for j := range p.rendering.Rules[i].Children {
			c := &p.rendering.Rules[i].Children[j]
			switch {
			case p.wanted != nil:
				eachWanted(c, func(id rules.Identity) bool {
					p.wanted[keyOf(id)] = true
					return true
				})
			case wantsObject(c, id):
				return true
			}
		}
	}
	return p.wanted[keyOf(id)]
}

func keyOf(id rules.Identity) objectKey {
	return objectKey{id.GVK.GroupKind(), id.Namespace, id.Name}
}

func wantsObject(c *rules.ChildResult, id rules.Identity) bool {
	found, key := false, keyOf(id)
	eachWanted(c, func(other rules.Identity) bool {
		found = keyOf(other) == key
		return !found
	})
	return found
}

// eachWanted calls f for every object of a child that must exist or be kept,
// until f returns false.
func eachWanted(c *rules.ChildResult, f func(rules.Identity) bool) {
	for i := range c.Objects {
		if d := &c.Objects[i]; d.State != rules.Excluded && !f(d.Identity) {
			return
		}
	}
	for i := range min(len(c.Finished), mostFinished) {
		u := unstructured.Unstructured{Object: c.Finished[i].Object}
		if !f(rules.Identity{GVK: c.Child.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}) {
			return
		}
	}
}

// keptOrWanted reports whether a rule keeps an existing object unchanged, and
// whether a rule renders it.
func (p *pass) keptOrWanted(id rules.Identity) (kept, wanted bool) {
	if !p.wants(id) {
		return false, false
	}
	for i := range p.rendering.Rules {
		if slices.ContainsFunc(p.rendering.Rules[i].Children, func(c rules.ChildResult) bool { return keepsExisting(c.Child) && wantsObject(&c, id) }) {
			return true, true
		}
	}
	return false, true
}
