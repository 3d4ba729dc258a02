package engine

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"reconcel/rules"
)

// A query says which objects of a watch are read: one by its name, whether it
// exists or not, or all that a selector matches.
type query struct {
	namespace string // "": all namespaces, or those of a cluster-scoped kind
	name      string
	selector  labels.Selector // nil when there is a name
}

// same reports whether two queries read the same. Selectors are compared where
// they are: that of a rule without expressions is one and the same in each
// pass.
func (q query) same(other query) bool {
	if q.namespace != other.namespace || q.name != other.name {
		return false
	}
	if q.selector == nil || other.selector == nil {
		return q.selector == nil && other.selector == nil
	}
	a, selectable := q.selector.Requirements()
	b, too := other.selector.Requirements()
	if selectable != too || len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, labels.Requirement.Equal)
}

// interests knows who reads what of one watch, so that a change of an object
// reaches the primaries that read it and no others.
type interests struct {
	mu    sync.Mutex
	names map[objectName][]*interest
	lists map[bucket][]*interest
}

// An objectName names an object of a kind.
type objectName struct{ namespace, name string }

// A bucket holds the lists that an object may be in: those of its namespace, or
// of all, whose selector asks for one value of a label. Lists that ask for none
// have a bucket without a label. It keeps an event from being held against the
// selector of every primary there is.
type bucket struct{ namespace, label, value string }

// An interest is a primary's in what a query reads. It belongs to the primary's
// memory.
type interest struct {
	query
	who  Request
	in   *interests
	at   int  // its place in the slice that holds it
	used bool // in the pass that is under way
}

// bucket returns the one that a list belongs to.
func (q query) bucket() bucket {
	requirements, _ := q.selector.Requirements()
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				return bucket{q.namespace, r.Key(), values[0]}
			}
		}
	}
	return bucket{namespace: q.namespace}
}

func (in *interests) add(i *interest) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if i.selector == nil {
		put(&in.names, objectName{i.namespace, i.name}, i)
		return
	}
	put(&in.lists, i.bucket(), i)
}

func (in *interests) remove(i *interest) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if i.selector == nil {
		take(in.names, objectName{i.namespace, i.name}, i)
		return
	}
	take(in.lists, i.bucket(), i)
}

func put[K comparable](m *map[K][]*interest, key K, i *interest) {
	if *m == nil {
		*m = map[K][]*interest{}
	}
	i.at = len((*m)[key])
	(*m)[key] = append((*m)[key], i)
}

// take fills the place of the interest with the last one.
func take[K comparable](m map[K][]*interest, key K, i *interest) {
	all := m[key]
	last := len(all) - 1
	if last == 0 {
		delete(m, key)
		return
	}
	all[i.at] = all[last]
	all[i.at].at = i.at
	all[last] = nil
	m[key] = all[:last]
}

// tell calls each with everyone who reads the object, some perhaps more than
// once.
func (in *interests) tell(o *object, each func(Request)) {
	namespace := o.GetNamespace()
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, i := range in.names[objectName{namespace, o.GetName()}] {
		each(i.who)
	}
	in.tellLists(namespace, o, each)
	if namespace != "" {
		in.tellLists("", o, each)
	}
}

// tellLists calls each with those whose list in a namespace, or in all of them,
// has the object.
func (in *interests) tellLists(namespace string, o *object, each func(Request)) {
	if len(in.lists) == 0 {
		return
	}
	set := rules.LabelsOf(o.Object)
	for _, i := range in.lists[bucket{namespace: namespace}] {
		if i.selector.Matches(set) {
			each(i.who)
		}
	}
	for key := range set {
		for _, i := range in.lists[bucket{namespace, key, set.Get(key)}] {
			if i.selector.Matches(set) {
				each(i.who)
			}
		}
	}
}

// reads are the interests of one primary: as many as its rules have lookups, so
// that they are searched and not indexed. A pass that reads what the one before
// it has read changes nothing and takes no lock.
type reads []*interest

// note registers the interest of a primary, unless that has been done.
func (rs *reads) note(in *interests, who Request, q query) {
	for _, i := range *rs {
		if i.in == in && i.same(q) {
			i.used = true
			return
		}
	}
	i := &interest{query: q, who: who, in: in, used: true}
	in.add(i)
	*rs = append(*rs, i)
}

// retain ends the interests in what the pass has not read.
func (rs *reads) retain() {
	*rs = slices.DeleteFunc(*rs, func(i *interest) bool {
		if !i.used {
			i.in.remove(i)
			return true
		}
		i.used = false
		return false
	})
}

// end ends all of them: the primary is gone.
func (rs *reads) end() {
	for _, i := range *rs {
		i.in.remove(i)
	}
	*rs = nil
}
