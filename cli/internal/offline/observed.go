package offline

import (
	"fmt"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// observed are the objects that exist in the cluster.
type observed struct {
	list []*files.Object
	byID map[rules.Identity]*files.Object
	read map[*files.Object]bool
}

func identity(o *files.Object) rules.Identity {
	return rules.Identity{GVK: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// newObserved indexes the objects. It rejects duplicates instead of choosing one.
func newObserved(list []*files.Object) (*observed, error) {
	all := &observed{list: list, byID: map[rules.Identity]*files.Object{}, read: map[*files.Object]bool{}}
	for _, o := range list {
		id := identity(o)
		if other := all.byID[id]; other != nil {
			return nil, fmt.Errorf("%s: %s is given twice (%s)", o.File, o, other.File)
		}
		all.byID[id] = o
	}
	return all, nil
}

// find returns an object, or nil.
func (all *observed) find(id rules.Identity) *files.Object {
	o := all.byID[id]
	if o != nil {
		all.read[o] = true
	}
	return o
}

// matching returns the objects that meet a condition.
func (all *observed) matching(condition func(*files.Object) bool) (found []*files.Object) {
	for _, o := range all.list {
		if condition(o) {
			all.read[o] = true
			found = append(found, o)
		}
	}
	return found
}

// TellUnread names observed objects that no rule has read. A wrong name or
// namespace would otherwise look like a child that does not exist.
func (r *Renderer) TellUnread() {
	for _, o := range r.observed.list {
		if !r.observed.read[o] {
			r.say("%s: %s is not used: it is not a child, and no lookup reads it", o.File, o)
		}
	}
}
