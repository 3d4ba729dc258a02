package watch

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"reconcel/rules"
)

// A query selects objects of a watch: one by its name, even if it does not exist, or
// all that match a selector.
type query struct {
	namespace string // "": all namespaces, or a cluster-scoped object
	name      string
	selector  labels.Selector // nil if there is a name
}

// equals compares two queries. A selector without expressions is the same value in
// each reconciliation, so its requirements are rarely compared.
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
	reads map[bucket][]*read
}

// A bucket has the reads of one name, or reads of lists. The lists of a bucket are in
// one namespace, or in all, and their selectors require the same value of a label.
// Lists that require no label value have a bucket without a label. Because of buckets,
// an event is not compared with the selector of every primary.
type bucket struct{ namespace, name, label, value string }

// A read is one query of one primary.
type read struct {
	query
	primary rules.Owner
	in      *readers
	index   int  // in its bucket
	used    bool // by the current reconciliation
}

func (q query) bucket() bucket {
	if q.selector == nil {
		return bucket{namespace: q.namespace, name: q.name}
	}
	requirements, _ := q.selector.Requirements()
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				return bucket{namespace: q.namespace, label: r.Key(), value: values[0]}
			}
		}
	}
	return bucket{namespace: q.namespace}
}

func (rs *readers) add(r *read) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.reads == nil {
		rs.reads = map[bucket][]*read{}
	}
	key := r.bucket()
	r.index = len(rs.reads[key])
	rs.reads[key] = append(rs.reads[key], r)
}

// remove moves the last read of the bucket to the index of the removed one.
func (rs *readers) remove(r *read) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	key := r.bucket()
	all := rs.reads[key]
	last := len(all) - 1
	if last == 0 {
		delete(rs.reads, key)
		return
	}
	all[r.index] = all[last]
	all[r.index].index = r.index
	all[last] = nil
	rs.reads[key] = all[:last]
}

// EachReader calls f for each primary that has read the object or a list that
// contains it, perhaps more than once.
func (w *Watch) EachReader(o *Object, f func(primary rules.Owner)) { w.readers.each(o, f) }

func (rs *readers) each(o *Object, f func(rules.Owner)) {
	set := rules.LabelsOf(o.content)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	matching := func(key bucket) {
		for _, r := range rs.reads[key] {
			if r.selector == nil || r.selector.Matches(set) {
				f(r.primary)
			}
		}
	}
	lists := func(namespace string) {
		matching(bucket{namespace: namespace})
		for label := range set {
			matching(bucket{namespace: namespace, label: label, value: set.Get(label)})
		}
	}
	namespace := o.GetNamespace()
	matching(bucket{namespace: namespace, name: o.GetName()})
	lists(namespace)
	if namespace != "" {
		lists("")
	}
}

// Reads are the lookups of one primary. Their number is that of the rules' lookups,
// so a linear search is enough. A reconciliation that reads the same as the previous
// one takes no lock.
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

// Retain removes the reads that were not repeated since the last Retain.
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

// End removes all reads of a deleted primary.
func (rs *Reads) End() {
	for _, r := range *rs {
		r.in.remove(r)
	}
	*rs = nil
}
