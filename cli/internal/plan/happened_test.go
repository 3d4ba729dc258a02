package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/rules"
)

// effects are the objects by action and kind, such as "configured Foo/default/x".
type effects []string

// planned returns the effects of a report.
func planned(r *Report) (all effects) {
	seen := map[string]bool{}
	for _, g := range slices.Concat(r.Risks, r.Changes) {
		action := string(g.Action)
		switch {
		case g.Part == "status":
			action = "status"
		case action == "adopted":
			action = "configured"
		}
		for _, name := range g.Objects {
			if effect := action + " " + g.Kind + "/" + name; !seen[effect] {
				seen[effect] = true
				all = append(all, effect)
			}
		}
	}
	slices.Sort(all)
	return all
}

// happened returns the effects of the changes after the first n, and of the rules that are gone.
func (f *fleet) happened(n int, before, after *rules.Program) (all effects) {
	first, last := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	for _, c := range f.Cluster().Changes(n) {
		u := c.New
		if u == nil {
			u = c.Old
		}
		key := u.GetKind() + "/" + strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
		if strings.HasSuffix(key, "-inventory") || strings.HasSuffix(key, "-revisions") {
			continue
		}
		if _, known := first[key]; !known {
			first[key] = c.Old
		}
		last[key] = c.New
	}
	for key, old := range first {
		for _, action := range actionsOf(old, last[key]) {
			all = append(all, action+" "+key)
		}
	}
	there := ruleNamesOf(after)
	for _, u := range f.Objects() {
		name, child := u.GetLabels()[rules.LabelRule]
		if child && !there[name] && ruleNamesOf(before)[name] {
			all = append(all, "orphaned "+u.GetKind()+"/"+strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/"))
		}
	}
	slices.Sort(all)
	return all
}

// withoutFollowing leaves out the status of primaries with a child that is created or
// replaced: it follows from the new objects, which do not exist while plan compares.
func (f *fleet) withoutFollowing(all effects) effects {
	owners := map[string]bool{}
	for _, u := range f.Objects() {
		key := u.GetKind() + "/" + strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
		if owner, ok := rules.OwnerOf(u.Object); ok && (slices.Contains(all, "created "+key) || slices.Contains(all, "replaced "+key)) {
			owners["status "+owner.String()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(effect string) bool { return owners[effect] })
}

func ruleNamesOf(program *rules.Program) map[string]bool {
	names := map[string]bool{}
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			names[r.Name] = true
		}
	}
	return names
}

// actionsOf returns what happened to an object.
func actionsOf(old, now *unstructured.Unstructured) (actions []string) {
	switch {
	case old == nil && now == nil:
		return nil
	case old == nil:
		return []string{"created"}
	case now == nil:
		return []string{"deleted"}
	case old.GetUID() != now.GetUID():
		return []string{"replaced"}
	}
	if a, b := withoutStatus(old), withoutStatus(now); !reflect.DeepEqual(a, b) {
		actions = append(actions, "configured")
	}
	child := now.GetLabels()[rules.LabelRule] != "" // Kubernetes' controllers write its status.
	if a, b := statusIn(old), statusIn(now); !child && !reflect.DeepEqual(a, b) {
		actions = append(actions, "status")
	}
	return actions
}

// withoutStatus returns an object without its status, and what the API server or every write
// changes.
func withoutStatus(u *unstructured.Unstructured) map[string]any {
	out := runtime.DeepCopyJSON(u.Object)
	delete(out, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(out, "metadata", field)
	}
	unstructured.RemoveNestedField(out, "metadata", "annotations", rules.AnnotationStatus)
	if annotations, found, _ := unstructured.NestedMap(out, "metadata", "annotations"); found && len(annotations) == 0 {
		unstructured.RemoveNestedField(out, "metadata", "annotations")
	}
	return out
}

// statusIn returns the part of a status that rules determine.
func statusIn(u *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	conditions := map[string]string{}
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		c := item.(map[string]any)
		if kind := c["type"].(string); kind != "Ready" && kind != "Reconciling" && kind != "Stalled" {
			conditions[kind] = fmt.Sprint(c["status"], c["reason"], c["message"])
		}
	}
	delete(status, "conditions")
	_, reported := u.GetAnnotations()[rules.AnnotationStatus]
	return map[string]any{"status": status, "conditions": conditions, "reported": reported}
}
