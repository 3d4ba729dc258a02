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

// owned returns the observed replicas of a child: those with its labels that no
// other object controls.
func (r *Renderer) owned(o *files.Object, rule *rules.Rule, c *rules.Child) []rules.Live {
	var out []rules.Live
	for _, other := range r.observed.list {
		marks := other.GetLabels()
		if other.GroupVersionKind().GroupKind() != c.GVK.GroupKind() || marks[rules.LabelRule] != rule.Name ||
			marks[rules.LabelChild] != c.ID || holder(other, o) != nil {
			continue
		}
		r.observed.read[other] = true
		out = append(out, rules.Live{Object: other.Object})
	}
	return out
}

// lookup answers a lookup from the observed objects.
func (r *Renderer) lookup(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
	gk := l.GVK.GroupKind()
	scope := r.kinds.Scope(gk)
	anywhere := q.Everywhere || scope == schema.ClusterScoped
	if q.Namespace == "" && !anywhere && scope == schema.Namespaced {
		return nil, fmt.Errorf("namespace is missing: %s is namespaced, and the resource is not", gk.Kind)
	}
	var found []*files.Object
	for _, o := range r.observed.list {
		switch {
		case o.GroupVersionKind() != l.GVK, !anywhere && o.GetNamespace() != q.Namespace:
			continue
		case q.Selector != nil && !q.Selector.Matches(labels.Set(o.GetLabels())), q.Selector == nil && o.GetName() != q.Name:
			continue
		}
		r.observed.read[o] = true
		found = append(found, o)
	}
	slices.SortFunc(found, func(a, b *files.Object) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	out := make([]map[string]any, len(found))
	for i, o := range found {
		out[i] = o.Object
	}
	return out, nil
}
