package decide

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

// This file remembers on the primary what its objects have done, in the annotation with
// rules.DonePrefix. It survives the object, the process and a backup. Neither an object that is gone,
// such as a Job with ttlSecondsAfterFinished, nor a new process is a reason to do it again.

// Limits of the annotation: the API server accepts 256 KiB of annotations for each object.
const (
	MaxDone       = 128 << 10 // of one rule, in bytes
	maxDoneObject = 8 << 10   // of one object; a larger one loses everything but its metadata
)

// StillWanted reports whether a rule may need to know what an object has done.
func StillWanted(r *rules.RuleResult, key string, done *rules.Done) bool {
	i := slices.IndexFunc(r.Children, func(c rules.ChildResult) bool {
		return c.Child.ID == done.Child && c.Child.Remembers()
	})
	if i < 0 {
		return false
	}
	c := &r.Children[i]
	if finalizes := c.Child.Timeout > 0; finalizes != r.Teardown {
		return !finalizes // A rule that is not torn down starts its finalize entries again.
	}
	switch c.State {
	case rules.Excluded:
		return false
	case rules.Waiting, rules.Failed:
		return true
	}
	return slices.ContainsFunc(c.Objects, func(d rules.Desired) bool {
		return d.State != rules.Excluded && (d.Identity.Name == "" || rules.DoneKey(d.Identity) == key)
	})
}

// Remnant returns what is kept of an object: what rules read of it, without its spec, and nothing of a
// Secret.
func Remnant(live *watch.Object, id rules.Identity) map[string]any {
	if id.GVK.GroupKind() == outcome.Secrets {
		return nil
	}
	out := maps.Clone(live.Content())
	for _, key := range []string{"apiVersion", "kind", "spec"} {
		delete(out, key)
	}
	old, _ := out["metadata"].(map[string]any)
	metadata := map[string]any{}
	for _, key := range []string{"creationTimestamp", "generation"} {
		if v, found := old[key]; found {
			metadata[key] = v
		}
	}
	for _, section := range []string{"labels", "annotations"} {
		marks, _ := old[section].(map[string]any)
		marks = maps.Clone(marks)
		maps.DeleteFunc(marks, func(key string, _ any) bool {
			return syntax.IsOwn(key) || strings.HasPrefix(key, "kubectl.kubernetes.io/")
		})
		if len(marks) > 0 {
			metadata[section] = marks
		}
	}
	out["metadata"] = metadata
	if text, err := json.Marshal(out); err != nil || len(text) > maxDoneObject {
		return map[string]any{"metadata": map[string]any{"creationTimestamp": metadata["creationTimestamp"]}}
	}
	return out
}

// Finished Pods are replaced with a delay that grows with their recent number.
const (
	Lately     = 10 * time.Minute
	FirstPause = 10 * time.Second // for two; doubled for each further one, up to MostFinished
)

// FinishedAt returns when a Pod finished: the end of its last container, or else when
// it became unready, or else when it was created.
func FinishedAt(content map[string]any) (at time.Time) {
	var pod corev1.Pod
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &pod) // What can be read is enough.
	latest := func(t metav1.Time) {
		if t.After(at) {
			at = t.Time
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if ended := pod.Status.ContainerStatuses[i].State.Terminated; ended != nil {
			latest(ended.FinishedAt)
		}
	}
	for _, c := range pod.Status.Conditions {
		if at.IsZero() && c.Type == corev1.PodReady {
			latest(c.LastTransitionTime)
		}
	}
	if at.IsZero() {
		latest(pod.CreationTimestamp)
	}
	return at
}
