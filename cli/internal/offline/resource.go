package offline

import (
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

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

// patch adds what a rule writes into the resource itself.
func (r *rendering) patch(result *rules.RuleResult) {
	name := fmt.Sprintf("rule %q, patch", result.Rule.Name)
	switch {
	case result.PatchErr != nil:
		r.fail("%v", result.PatchErr)
		return
	case len(result.PatchWaits) > 0:
		r.note("%s: waits for %s", name, strings.Join(result.PatchWaits, ", "))
		return
	case len(result.Patch) == 0:
		return
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(result.Patch, &content); err != nil {
		r.fail("%s: %v", name, err)
		return
	}
	r.write(fmt.Sprintf("# patch of %s by rule %q", r.self, result.Rule.Name), content)
}

// write adds content that is written into the resource itself. It merges everything
// into one object, because the result must not repeat an object.
func (r *rendering) write(comment string, content map[string]any) {
	if r.own == nil {
		metadata := map[string]any{"name": r.self.Unstructured.GetName()}
		if r.self.Unstructured.GetNamespace() != "" {
			metadata["namespace"] = r.self.Unstructured.GetNamespace()
		}
		r.own = &item{object: map[string]any{"apiVersion": r.self.Unstructured.GetAPIVersion(),
			"kind": r.self.Unstructured.GetKind(), "metadata": metadata}}
	} else {
		comment = "\n" + comment
	}
	r.own.comment += comment
	mergeInto(r.own.object, content)
}

// mergeInto merges src into dst, maps entry by entry.
func mergeInto(dst, src map[string]any) {
	for key, value := range src {
		inner, isMap := value.(map[string]any)
		if old, both := dst[key].(map[string]any); isMap && both {
			mergeInto(old, inner)
			continue
		}
		dst[key] = value
	}
}

// status adds the status that all rules together write.
func (r *rendering) status(results []rules.RuleResult) {
	status := map[string]any{}
	var conditions []any
	for i := range results {
		result := &results[i]
		if len(result.Status) > 0 {
			// Two rules never write the same field, so nothing is overwritten.
			if err := utiljson.Unmarshal(result.Status, &status); err != nil {
				r.fail("rule %q: status: %v", result.Rule.Name, err)
				return
			}
		}
		for _, c := range result.Conditions {
			conditions = append(conditions, shownCondition(c))
		}
	}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if len(status) > 0 {
		r.write(fmt.Sprintf("# status of %s", r.self), map[string]any{"status": status})
	}
}

// shownCondition returns a condition without times, which would change with every
// rendering.
func shownCondition(c rules.Condition) map[string]any {
	entry := map[string]any{"type": c.Type, "status": string(c.Status), "reason": c.Reason}
	if c.Message != "" {
		entry["message"] = c.Message
	}
	return entry
}
