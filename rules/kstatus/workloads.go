package kstatus

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func jobReady(o status) (Readiness, string) {
	if c := o.condition("Failed"); c.state == "True" {
		return Stalled, c.message()
	}
	if o.condition("Complete").state == "True" {
		return Ready, ""
	}
	if c := o.condition("Suspended"); c.state == "True" {
		return Progressing, c.message()
	}
	if o.status["startTime"] == nil {
		return Progressing, "not started"
	}
	return progressOf(o.statusCount("succeeded"), o.specNumber("completions", o.specNumber("parallelism", 1)), "complete")
}

// Finished reports whether a Job has ended, successfully or not, and when.
func Finished(job map[string]any) (at time.Time, finished bool) {
	o := statusOf(job)
	for _, name := range []string{"Complete", "Failed"} {
		if c := o.condition(name); c.state == "True" {
			text, _ := c.fields["lastTransitionTime"].(string)
			at, _ = time.Parse(time.RFC3339, text) // It is required; the zero time is long ago.
			return at, true
		}
	}
	return at, false
}

func deploymentReady(o status) (Readiness, string) {
	if o.condition("Progressing").fields["reason"] == "ProgressDeadlineExceeded" {
		return Stalled, "it made no progress within its deadline; look at its Pods"
	}
	want := o.specNumber("replicas", 1)
	have, updated, available := o.statusCount("replicas"), o.statusCount("updatedReplicas"),
		o.statusCount("availableReplicas")
	switch {
	case updated < want:
		return o.withCause(progressOf(updated, want, "updated"))
	case have > want:
		return Progressing, fmt.Sprintf("%d old replicas still exist", have-want)
	case available < want:
		return o.withCause(progressOf(available, want, "available"))
	}
	if c := o.condition("Available"); c.state != "" && c.state != "True" {
		return Progressing, c.message()
	}
	return Ready, ""
}

// withCause adds why Pods could not be created, such as a quota. It omits the name of the
// Pod, which differs with each attempt.
func (o status) withCause(state Readiness, message string) (Readiness, string) {
	failed := o.condition("ReplicaFailure")
	if failed.state != "True" {
		return state, message
	}
	why := failed.message()
	if _, rest, found := strings.Cut(why, " is forbidden: "); found {
		why = rest
	}
	return state, message + ": " + why
}

func replicaSetReady(o status) (Readiness, string) {
	if c := o.condition("ReplicaFailure"); c.state == "True" {
		return Progressing, c.message()
	}
	want, have := o.specNumber("replicas", 1), o.statusCount("replicas")
	for _, field := range [...]struct{ name, word string }{
		{"fullyLabeledReplicas", "labelled"}, {"availableReplicas", "available"}, {"readyReplicas", "ready"},
	} {
		if n := o.statusCount(field.name); n < want {
			return progressOf(n, want, field.word)
		}
	}
	if have > want {
		return Progressing, fmt.Sprintf("%d surplus replicas still exist", have-want)
	}
	return Ready, ""
}

func statefulSetReady(o status) (Readiness, string) {
	strategy, _ := o.specMap["updateStrategy"].(map[string]any)
	if strategy["type"] == "OnDelete" {
		return Ready, "" // People decide when it is updated.
	}
	want, have := o.specNumber("replicas", 1), o.statusCount("replicas")
	switch {
	case have < want:
		return progressOf(have, want, "created")
	case o.statusCount("readyReplicas") < want:
		return progressOf(o.statusCount("readyReplicas"), want, "ready")
	case have > want:
		return Progressing, fmt.Sprintf("%d surplus replicas still exist", have-want)
	}
	rolling, _ := strategy["rollingUpdate"].(map[string]any)
	if partition, ok := o.numberIn(rolling, "partition"); ok && partition > 0 {
		if updated := o.statusCount("updatedReplicas"); updated < want-partition {
			return progressOf(updated, want-partition, "updated")
		}
		return Ready, ""
	}
	if o.status["currentRevision"] != o.status["updateRevision"] {
		return progressOf(o.statusCount("updatedReplicas"), want, "updated")
	}
	return Ready, ""
}

func daemonSetReady(o status) (Readiness, string) {
	want, ok := o.numberIn(o.status, "desiredNumberScheduled")
	if _, seen := o.numberIn(o.status, "observedGeneration"); !ok || !seen {
		return Progressing, "its controller has not observed it yet"
	}
	strategy, _ := o.specMap["updateStrategy"].(map[string]any)
	for _, field := range [...]struct{ name, word string }{
		{"currentNumberScheduled", "scheduled"}, {"updatedNumberScheduled", "updated"},
		{"numberAvailable", "available"}, {"numberReady", "ready"},
	} {
		if field.word == "updated" && strategy["type"] == "OnDelete" {
			continue
		}
		if n := o.statusCount(field.name); n < want {
			return progressOf(n, want, field.word)
		}
	}
	return Ready, ""
}

func podReady(o status) (Readiness, string) {
	switch o.status["phase"] {
	case "Succeeded":
		return Ready, ""
	case "Failed":
		return Stalled, "it failed"
	case "Running":
		if c := o.condition("Ready"); c.state != "True" {
			if o.crashLoops() {
				return Stalled, "a container keeps crashing"
			}
			return Progressing, c.message()
		}
		return Ready, ""
	}
	if c := o.condition("PodScheduled"); c.state == "False" {
		return Progressing, c.message()
	}
	if why := o.whyUnstarted(); why != "" {
		return Progressing, why
	}
	return Progressing, "not running yet"
}

// A waiting container has not started, or not again.
type waiting struct {
	name, image, reason, message any
}

// waitingContainers returns the containers of a Pod that wait, by fields of its status.
func (o status) waitingContainers(fields ...string) (all []waiting) {
	for _, list := range fields {
		containers, _ := o.status[list].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			state, _ := container["state"].(map[string]any)
			if w, _ := state["waiting"].(map[string]any); w != nil {
				all = append(all, waiting{container["name"], container["image"], w["reason"], w["message"]})
			}
		}
	}
	return all
}

// whyUnstarted returns which container cannot start, and why. The two reasons of an
// image that cannot be pulled alternate, so both give one message.
func (o status) whyUnstarted() string {
	for _, w := range o.waitingContainers("initContainerStatuses", "containerStatuses") {
		switch w.reason {
		case nil, "", "ContainerCreating", "PodInitializing":
		case "ErrImagePull", "ImagePullBackOff":
			return fmt.Sprintf("container %q: image %v cannot be pulled; correct its name or the pull secret", w.name, w.image)
		default:
			return fmt.Sprintf("container %q: %s: %v", w.name, w.reason, w.message)
		}
	}
	return ""
}

func (o status) crashLoops() bool {
	return slices.ContainsFunc(o.waitingContainers("containerStatuses"),
		func(w waiting) bool { return w.reason == "CrashLoopBackOff" })
}
