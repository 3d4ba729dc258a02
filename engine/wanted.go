package engine

import (
	"iter"
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
	if p.wanted == nil && p.rendersMany() {
		p.wanted = map[objectKey]bool{}
		for i := range p.rendering.Rules {
			for j := range p.rendering.Rules[i].Children {
				for other := range wantedOf(&p.rendering.Rules[i].Children[j]) {
					p.wanted[keyOf(other)] = true
				}
			}
		}
	}
	if p.wanted != nil {
		return p.wanted[keyOf(id)]
	}
	return slices.ContainsFunc(p.rendering.Rules, func(r rules.RuleResult) bool { return rendersObject(&r, id) })
}

// rendersMany reports whether the rules render more objects than a linear search suits.
func (p *pass) rendersMany() bool {
	count := 0
	for i := range p.rendering.Rules {
		for j := range p.rendering.Rules[i].Children {
			count += len(p.rendering.Rules[i].Children[j].Objects)
		}
	}
	return count > few
}

func keyOf(id rules.Identity) objectKey {
	return objectKey{id.GVK.GroupKind(), id.Namespace, id.Name}
}

func rendersObject(r *rules.RuleResult, id rules.Identity) bool {
	for i := range r.Children {
		if wantsObject(&r.Children[i], id) {
			return true
		}
	}
	return false
}

func wantsObject(c *rules.ChildResult, id rules.Identity) bool {
	key := keyOf(id)
	for other := range wantedOf(c) {
		if keyOf(other) == key {
			return true
		}
	}
	return false
}

// wantedOf returns the objects of a child that must exist or be kept.
func wantedOf(c *rules.ChildResult) iter.Seq[rules.Identity] {
	return func(yield func(rules.Identity) bool) {
		for i := range c.Objects {
			if d := &c.Objects[i]; d.State != rules.Excluded && !yield(d.Identity) {
				return
			}
		}
		for i := range min(len(c.Finished), mostFinished) {
			u := unstructured.Unstructured{Object: c.Finished[i].Object}
			if !yield(rules.Identity{GVK: c.Child.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}) {
				return
			}
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
