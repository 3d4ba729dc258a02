package offline

import (
	"reflect"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// mostRounds is the number of rounds after which rules count as restless. Each round
// renders what reads the objects of the round before, so it is also the longest chain.
const mostRounds = 200

// A round is one rendering of all resources.
type round struct {
	exists   *cluster
	children map[rules.Identity]rendered // in this round
	applied  []*files.Object
}

// A rendered object has the resource and the child that it was rendered for first.
type rendered struct {
	self    *files.Object
	child   *rules.Child
	content map[string]any
}

// settle renders the resources again and again, each time with the objects of the round
// before, until nothing changes. It returns the last rendering of each resource.
func (r *Renderer) settle(resources []*resource) []*rendering {
	exists := r.observed
	var before []*files.Object
	for n := 1; ; n++ {
		this := &round{exists: exists, children: map[rules.Identity]rendered{}}
		results := r.play(this, resources)
		changed := firstChange(before, this.applied)
		if r.exists == ObservedOnly || changed == nil {
			return results
		}
		if n == mostRounds {
			for _, one := range results {
				one.fail("%s still changes after %d renderings: the rules do not converge", changed, n)
			}
			return results
		}
		exists, before = r.observed.with(selves(resources)).with(this.applied), this.applied
	}
}

// play renders all resources once.
func (r *Renderer) play(this *round, resources []*resource) (results []*rendering) {
	for _, of := range resources {
		one := &rendering{Renderer: r, report: report{about: of.about}, round: this, self: of.self,
			foreign: map[rules.Identity]string{}}
		if of.primary != nil {
			one.render(of.primary)
		}
		results = append(results, one)
	}
	return results
}

// selves returns the resources that have rules and exist.
func selves(resources []*resource) (all []*files.Object) {
	for _, one := range resources {
		if one.primary != nil && !one.primary.ForCluster() {
			all = append(all, one.self)
		}
	}
	return all
}

// firstChange returns an object in which two rounds differ, or nil.
func firstChange(before, after []*files.Object) *files.Object {
	for i, o := range after {
		if i == len(before) || !reflect.DeepEqual(before[i].Unstructured.Object, o.Unstructured.Object) {
			return o
		}
	}
	if len(before) > len(after) {
		return before[len(after)]
	}
	return nil
}
