package offline

import (
	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A resource is an object that is rendered.
type resource struct {
	report
	self    *files.Object
	primary *rules.Primary // nil: there is nothing to render
}

// prepare finds the rules for a resource, and completes it as the API server would.
func (r *Renderer) prepare(one *resource) {
	primary, why := r.rulesFor(one.self)
	if primary == nil {
		one.note("%s", why)
		return
	}
	pruned, err := r.kinds.complete(one.self)
	if err != nil {
		one.fail("%s: %v", one.self.File, err)
		return
	}
	for _, field := range pruned {
		one.note("%s%s: dropped, as the API server would: the CRD has no such field", field.Path,
			source.DidYouMean(field.Name, field.Have))
	}
	stored, err := r.stored(one.self)
	if err != nil {
		one.fail("%s: %v", one.self.File, err)
		return
	}
	if status, has := one.self.Unstructured.Object["status"]; has {
		stored.Unstructured.Object["status"] = status
	}
	if generation := one.self.Unstructured.GetGeneration(); generation != 0 {
		stored.Unstructured.SetGeneration(generation)
	}
	one.self, one.primary = stored, primary
	r.observe(one)
}

// observe copies the status of the observed object if the resource has none. It uses
// nothing else of the observed object, and adds a note either way.
func (r *Renderer) observe(one *resource) {
	live := r.observed.find(identity(one.self))
	if live == nil {
		return
	}
	status, has := live.Unstructured.Object["status"]
	switch _, own := one.self.Unstructured.Object["status"]; {
	case own:
		one.note("is also in %s, which is not used: %s has its status", live.File, one.self.File)
	case has:
		one.self.Unstructured.Object["status"] = status
		one.note("its status is taken from %s, the rest from %s", live.File, one.self.File)
	default:
		one.note("is also in %s, which is not used", live.File)
	}
}
