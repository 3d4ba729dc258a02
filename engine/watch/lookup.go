package watch

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"reconcel/rules"
)

// An Answer is the result of a lookup: objects, or the reason why they are unknown.
type Answer struct {
	objects []map[string]any
	unknown error
}

// Objects returns the objects, which are read-only. With an error they are unknown,
// not absent.
func (a Answer) Objects() (objects []map[string]any, unknown error) { return a.objects, a.unknown }

// Lookup runs a query for a primary. It registers the primary as a reader before it
// reads the cache, so that no change in between is missed. It returns an error if the
// query is invalid.
func (w *Watch) Lookup(reads *Reads, primary rules.Owner, q rules.Query, scope Scope) (Answer, error) {
	c, err := w.Cache()
	if err != nil {
		return Answer{unknown: err}, nil
	}
	kind := c.kind.GVK.Kind
	switch {
	case !c.kind.Namespaced:
		q.Namespace = ""
	case q.Everywhere && q.Name != "":
		return Answer{}, fmt.Errorf("namespace is empty: %s is namespaced, so a lookup by name needs a namespace", kind)
	case q.Everywhere:
		q.Namespace = ""
	case q.Namespace == "":
		return Answer{}, fmt.Errorf("namespace is missing: %s is namespaced and the resource is not", kind)
	}
	if q.Namespace != "" && c.namespace(q.Namespace) == nil {
		return Answer{}, scope.OutsideError(q.Namespace)
	}
	reads.register(&w.readers, primary, query{q.Namespace, q.Name, q.Selector})
	if err := c.unlistedIn(q.Namespace); err != nil {
		return Answer{unknown: err}, nil
	}
	if q.Name == "" {
		return Answer{objects: c.selected(q.Namespace, q.Selector)}, nil
	}
	if o, _ := c.Get(q.Namespace, q.Name); o != nil {
		return Answer{objects: []map[string]any{o.content}}, nil
	}
	return Answer{}, nil
}

// unlistedIn returns why a namespace, or with "" any namespace, is not listed.
func (c *Cache) unlistedIn(namespace string) error {
	return c.unlisted(func(other string) bool { return namespace == "" || other == namespace })
}

// selected returns the objects of a namespace, or with "" of all, that match a
// selector, sorted by namespace and name.
func (c *Cache) selected(namespace string, selector labels.Selector) []map[string]any {
	type named struct {
		namespace, name string // read once for each object
		content         map[string]any
	}
	var found []named
	for _, n := range c.namespaces {
		if n.namespace != "" && namespace != "" && n.namespace != namespace {
			continue
		}
		for _, item := range n.in(namespace) {
			if o := item.(*Object); selector.Matches(rules.LabelsOf(o.content)) {
				found = append(found, named{o.GetNamespace(), o.GetName(), o.content})
			}
		}
	}
	slices.SortFunc(found, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	objects := make([]map[string]any, len(found))
	for i := range found {
		objects[i] = found[i].content
	}
	return objects
}

// in returns the objects of a namespace, or with "" all objects.
func (n *namespaced) in(namespace string) []any {
	if namespace == "" {
		return n.objects().List()
	}
	items, _ := n.objects().ByIndex(cache.NamespaceIndex, namespace) // Its only error is an unknown index.
	return items
}
