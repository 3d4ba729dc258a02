package offline

import (
	"errors"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// ErrNotPrepared says that a resource cannot be rendered. The reason is printed.
var ErrNotPrepared = errors.New("the resource cannot be rendered")

// A Subject is a resource with its rules, and what their expressions read.
type Subject struct {
	Primary  *rules.Primary
	Input    rules.Input
	Failures int // objects that cannot be rendered, or that the API server would reject
}

// Input renders a resource until nothing changes, and returns what its expressions read
// then.
func (r *Renderer) Input(self *files.Object) (rules.Input, error) {
	all := r.subjects(r.prepared([]*files.Object{self}))
	if len(all) == 0 {
		return rules.Input{}, ErrNotPrepared
	}
	return all[0].Input, nil
}

// Subjects renders the rules for the cluster and resources until nothing changes. Resources
// that cannot be rendered are left out: the reason is printed.
func (r *Renderer) Subjects(given []*files.Object) []Subject {
	return r.subjects(append(r.bundles(), r.prepared(given)...))
}

func (r *Renderer) prepared(given []*files.Object) (all []*resource) {
	for _, self := range given {
		one := &resource{report: report{about: self.String()}, self: self}
		r.prepare(one)
		r.tell(one.report)
		all = append(all, one)
	}
	return all
}

func (r *Renderer) subjects(resources []*resource) (all []Subject) {
	for i, last := range r.settle(resources) {
		if primary := resources[i].primary; primary != nil {
			in := rules.Input{Self: last.self.Unstructured.Object, Now: r.time, Observed: last.live, Owned: last.owned,
				Lookup: last.lookup, Numbers: r.numbers}
			if r.exists == AsRendered {
				in.Exists = r.observed.content
			}
			all = append(all, Subject{primary, in, last.failures})
		}
	}
	return all
}
