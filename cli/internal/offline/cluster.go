package offline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/schema"
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

// live returns the existing object of a child. An object that something else
// controls is not a child of the resource.
func (r *rendering) live(id rules.Identity) rules.Live {
	child := r.round.exists.find(id)
	if child == nil {
		return rules.Live{}
	}
	if other, foreign := r.foreignController(child); foreign {
		if r.observed.byID[id] == nil {
			return rules.Live{} // Another resource of this rendering has it.
		}
		r.foreign[id] = fmt.Sprintf("%s %q controls it (%s)", other.Kind.Kind, other.Name, child.File)
		return rules.Live{}
	}
	return rules.Live{Object: child.Unstructured.Object}
}

// foreignController returns the controller of an object unless it is the resource.
// An object without a controller counts as the resource's. So does one whose
// reference to the resource has no UID, because it was written by hand.
func (r *rendering) foreignController(o *files.Object) (controller rules.Owner, foreign bool) {
	c, found := rules.ControllerOf(o.Unstructured.Object)
	sameUID := c.UID == "" || isPlaceholderUID(string(r.self.Unstructured.GetUID())) ||
		c.UID == r.self.Unstructured.GetUID()
	return c, found && (c.Kind != r.self.Unstructured.GroupVersionKind().GroupKind() ||
		c.Name != r.self.Unstructured.GetName() || !sameUID)
}

// owned returns the existing objects of a child: those with its labels that no
// other object controls.
func (r *rendering) owned(rule *rules.Rule, c *rules.Child) (all []rules.Live, err error) {
	for _, o := range r.round.exists.matching(func(o *files.Object) bool {
		marks := o.Unstructured.GetLabels()
		_, foreign := r.foreignController(o)
		return o.Unstructured.GroupVersionKind().GroupKind() == c.GVK.GroupKind() && marks[rules.LabelRule] == rule.Name &&
			marks[rules.LabelChild] == c.ID && !foreign
	}) {
		all = append(all, rules.Live{Object: o.Unstructured.Object})
	}
	return all, nil
}

// lookup answers a lookup from the existing objects.
func (r *rendering) lookup(l *rules.Lookup, q rules.Query) (contents []map[string]any, err error) {
	gk := l.GVK.GroupKind()
	scope := r.kinds.Scope(gk)
	anywhere := q.Everywhere || scope == schema.ClusterScoped
	if q.Namespace == "" && !anywhere && scope == schema.Namespaced {
		return nil, fmt.Errorf("namespace is missing: %s is namespaced, and the resource is not", gk.Kind)
	}
	found := r.round.exists.matching(func(o *files.Object) bool {
		if o.Unstructured.GroupVersionKind() != l.GVK || !anywhere && o.Unstructured.GetNamespace() != q.Namespace {
			return false
		}
		if q.Selector != nil {
			return q.Selector.Matches(labels.Set(o.Unstructured.GetLabels()))
		}
		return o.Unstructured.GetName() == q.Name
	})
	slices.SortFunc(found, func(a, b *files.Object) int {
		return cmp.Or(strings.Compare(a.Unstructured.GetNamespace(), b.Unstructured.GetNamespace()),
			strings.Compare(a.Unstructured.GetName(), b.Unstructured.GetName()))
	})
	for _, o := range found {
		contents = append(contents, o.Unstructured.Object)
	}
	return contents, nil
}
