package watch

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"reconcel/rules"
)

// A query selects objects of a watch: one by its name, whether it exists or not,
// or all that a selector matches.
type query struct {
	namespace string // "": all namespaces, or a cluster-scoped object
	name      string
	selector  labels.Selector // nil if there is a name
}

// equals compares two queries. The selector of a rule without expressions is the
// same one in each reconciliation, so its requirements are rarely compared.
func (q query) equals(other query) bool {
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

// readers are the primaries that read objects of one watch.
type readers struct {
	mu    sync.Mutex
	names map[objectName][]*read
	lists map[bucket][]*read
}

type objectName struct{ namespace, name string }

// A bucket has the lists of one namespace, or of all, whose selectors require the
// same value of a label. Lists that require none have a bucket without a label.
// Buckets keep an event from being compared with the selector of every primary.
type bucket struct{ namespace, label, value string }

// A read is one query of one primary.
type read struct {
	query
	primary rules.Owner
	in      *readers
	index   int  // in the slice of its name or bucket
	used    bool // in the present reconciliation
}

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

func (rs *readers) add(r *read) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r.selector == nil {
		insert(&rs.names, objectName{r.namespace, r.name}, r)
		return
	}
	insert(&rs.lists, r.bucket(), r)
}

func (rs *readers) remove(r *read) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r.selector == nil {
		removeSwap(rs.names, objectName{r.namespace, r.name}, r)
		return
	}
	removeSwap(rs.lists, r.bucket(), r)
}

func insert[K comparable](m *map[K][]*read, key K, r *read) {
	if *m == nil {
		*m = map[K][]*read{}
	}
	r.index = len((*m)[key])
	(*m)[key] = append((*m)[key], r)
}

// removeSwap moves the last read to the index of the removed one.
func removeSwap[K comparable](m map[K][]*read, key K, r *read) {
	all := m[key]
	last := len(all) - 1
	if last == 0 {
		delete(m, key)
		return
	}
	all[r.index] = all[last]
	all[r.index].index = r.index
	all[last] = nil
	m[key] = all[:last]
}

// EachReader calls f with the primaries that have read the object or a list that
// contains it, with some perhaps more than once.
func (w *Watch) EachReader(o *Object, f func(primary rules.Owner)) { w.readers.each(o, f) }

func (rs *readers) each(o *Object, f func(rules.Owner)) {
	namespace := o.GetNamespace()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.names[objectName{namespace, o.GetName()}] {
		f(r.primary)
	}
	rs.eachOfLists(namespace, o, f)
	if namespace != "" {
		rs.eachOfLists("", o, f)
	}
}

func (rs *readers) eachOfLists(namespace string, o *Object, f func(rules.Owner)) {
	if len(rs.lists) == 0 {
		return
	}
	set := rules.LabelsOf(o.content)
	matching := func(key bucket) {
		for _, r := range rs.lists[key] {
			if r.selector.Matches(set) {
				f(r.primary)
			}
		}
	}
	matching(bucket{namespace: namespace})
	for label := range set {
		matching(bucket{namespace, label, set.Get(label)})
	}
}

// Reads are the lookups of one primary. There are as many as its rules have
// lookups, so they are searched and not indexed. A reconciliation that reads what
// the one before has read takes no lock.
type Reads []*read

func (rs *Reads) register(in *readers, primary rules.Owner, q query) {
	for _, r := range *rs {
		if r.in == in && r.equals(q) {
			r.used = true
			return
		}
	}
	r := &read{query: q, primary: primary, in: in, used: true}
	in.add(r)
	*rs = append(*rs, r)
}

// Retain drops the reads that were not repeated since the last Retain.
func (rs *Reads) Retain() {
	*rs = slices.DeleteFunc(*rs, func(r *read) bool {
		if !r.used {
			r.in.remove(r)
			return true
		}
		r.used = false
		return false
	})
}

// End drops all reads, since the primary is gone.
func (rs *Reads) End() {
	for _, r := range *rs {
		r.in.remove(r)
	}
	*rs = nil
}
