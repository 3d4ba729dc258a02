package offline

import (
	"fmt"
	"maps"
	"slices"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// A cluster holds the objects that exist while rules render.
type cluster struct {
	list []*files.Object
	byID map[rules.Identity]*files.Object
	read map[rules.Identity]bool // the objects that rules have read
}

func identity(o *files.Object) rules.Identity {
	return rules.Identity{GVK: o.Unstructured.GroupVersionKind(), Namespace: o.Unstructured.GetNamespace(),
		Name: o.Unstructured.GetName()}
}

// newCluster returns a cluster with the observed objects. It rejects duplicates instead
// of choosing one.
func newCluster(observed []*files.Object) (*cluster, error) {
	c := &cluster{list: observed, byID: map[rules.Identity]*files.Object{}, read: map[rules.Identity]bool{}}
	for _, o := range observed {
		id := identity(o)
		if other := c.byID[id]; other != nil {
			return nil, fmt.Errorf("%s: %s is given twice (%s)", o.File, o, other.File)
		}
		c.byID[id] = o
	}
	return c, nil
}

// with returns the cluster after objects were applied to it. An object that exists
// already counts as it is, and only fields that it lacks are added.
func (c *cluster) with(applied []*files.Object) *cluster {
	next := &cluster{list: slices.Clone(c.list), byID: maps.Clone(c.byID), read: c.read}
	for _, o := range applied {
		id := identity(o)
		live := next.byID[id]
		if live == nil {
			next.list, next.byID[id] = append(next.list, o), o
			continue
		}
		both := &files.Object{Unstructured: *o.Unstructured.DeepCopy(), File: live.File}
		both.Unstructured.SetGeneration(live.Unstructured.GetGeneration()) // Its status tells which generation it is of.
		mergeInto(both.Unstructured.Object, live.Unstructured.DeepCopy().Object)
		next.list[slices.Index(next.list, live)], next.byID[id] = both, both
	}
	return next
}

// find returns an object, or nil.
func (c *cluster) find(id rules.Identity) *files.Object {
	o := c.byID[id]
	if o != nil {
		c.read[id] = true
	}
	return o
}

// content returns what there is of an object, or nil.
func (c *cluster) content(id rules.Identity) map[string]any {
	if o := c.byID[id]; o != nil {
		return o.Unstructured.Object
	}
	return nil
}

// matching returns the objects that meet a condition.
func (c *cluster) matching(condition func(*files.Object) bool) (found []*files.Object) {
	for _, o := range c.list {
		if condition(o) {
			c.read[identity(o)] = true
			found = append(found, o)
		}
	}
	return found
}

// TellUnread names observed objects that no rule has read. A wrong name or
// namespace would otherwise look like a child that does not exist.
func (r *Renderer) TellUnread() {
	for _, o := range r.observed.list {
		if !r.observed.read[identity(o)] {
			r.say("%s: %s is not used: it is not a child, and no lookup reads it", o.File, o)
		}
	}
}
