package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/schema"
)

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
