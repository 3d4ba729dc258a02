package plan

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// An ObjectKey identifies an object independently of the version of its kind.
type ObjectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// KeyOf returns the key of an object.
func KeyOf(id rules.Identity) ObjectKey {
	return ObjectKey{id.GVK.GroupKind(), id.Namespace, id.Name}
}

// RendersObject reports whether a rule renders an object.
func RendersObject(r *rules.RuleResult, id rules.Identity) bool {
	for i := range r.Children {
		if WantsObject(&r.Children[i], id) {
			return true
		}
	}
	return false
}

// WantsObject reports whether a child wants an object.
func WantsObject(c *rules.ChildResult, id rules.Identity) bool {
	key := KeyOf(id)
	for other := range WantedOf(c) {
		if KeyOf(other) == key {
			return true
		}
	}
	return false
}

// WantedOf returns the objects of a child that must exist or be kept.
func WantedOf(c *rules.ChildResult) iter.Seq[rules.Identity] {
	return func(yield func(rules.Identity) bool) {
		for i := range c.Objects {
			if d := &c.Objects[i]; d.State != rules.Excluded && !yield(d.Identity) {
				return
			}
		}
		for i := range min(len(c.Finished), MostFinished) {
			u := unstructured.Unstructured{Object: c.Finished[i].Object}
			if !yield(rules.Identity{GVK: c.Child.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}) {
				return
			}
		}
	}
}
