package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"reconcel/rules"
)

// lookup answers what a rule asks for, and remembers that this primary has
// asked: whatever changes the answer brings about another pass. The interest
// is registered before the cache is read, so that no event falls in between.
func (p *pass) lookup(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
	w := p.primary.lookups[l]
	c := w.cached.Load()
	if c == nil {
		return nil, rules.ErrUnwatched // Asked again as soon as there is one.
	}
	switch {
	case !c.kind.Namespaced:
		q.Namespace = ""
	case q.Everywhere && q.Name != "":
		return nil, fmt.Errorf("namespace is empty: %s is namespaced, so a lookup by name needs a namespace", l.GVK.Kind)
	case q.Everywhere:
		q.Namespace = ""
	case q.Namespace == "":
		return nil, fmt.Errorf("namespace is missing: %s is namespaced and the resource is not", l.GVK.Kind)
	}
	if q.Namespace != "" && c.part(q.Namespace) == nil {
		return nil, errors.New(p.engine.notFollowed(q.Namespace))
	}
	p.memory.reads.note(&w.interests, p.req, query{q.Namespace, q.Name, q.Selector})
	if err := c.unread(q.Namespace); err != nil {
		p.noteUnread(l, err)
		return nil, rules.ErrUnwatched // Asked again as soon as it is listed.
	}
	if q.Name == "" {
		return c.find(q.Namespace, q.Selector), nil
	}
	if o := c.get(q.Namespace, q.Name); o != nil {
		return []map[string]any{o.Object}, nil
	}
	return nil, nil
}

// noteUnread notes that what a lookup reads is not known, and why.
func (p *pass) noteUnread(l *rules.Lookup, why error) {
	if p.unread == nil {
		p.unread = map[*rules.Lookup]error{}
	}
	p.unread[l] = why
}

// find returns the cached objects in a namespace, or with "" in all of them,
// that a selector matches, sorted by namespace and name.
func (c *cached) find(namespace string, selector labels.Selector) []map[string]any {
	items := c.in(namespace)
	found := make([]listed, 0, len(items))
	for _, item := range items {
		o, ok := item.(*object)
		if ok && selector.Matches(rules.LabelsOf(o.Object)) {
			found = append(found, listed{o.GetNamespace(), o.GetName(), o.Object})
		}
	}
	slices.SortFunc(found, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	list := make([]map[string]any, len(found))
	for i := range found {
		list[i] = found[i].object
	}
	return list
}

// listed is an object with the names by which lists are sorted, which are read
// from it once.
type listed struct {
	namespace, name string
	object          map[string]any
}

// in returns the cached objects of a namespace, or with "" all of them.
func (c *cached) in(namespace string) []any {
	if namespace == "" {
		return c.list()
	}
	p := c.part(namespace)
	if p == nil {
		return nil
	}
	items, _ := p.objects().ByIndex(cache.NamespaceIndex, namespace) // Its only error is an unknown index.
	return items
}
