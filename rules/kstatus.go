package rules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What readiness means for a kind follows kstatus, the convention that
// kubectl, Argo CD and Flux share, with two differences. A Job is ready when
// it is complete, not when it has started: whoever comes after a Job wants its
// work done. And the conditions of a workload count only where it has some:
// what plays the controllers of a test cluster often sets the numbers alone.

// A readinessOf judges one kind.
type readinessOf func(o status) (Readiness, string)

var readinessOfKind = map[schema.GroupKind]readinessOf{
	{Group: "apps", Kind: "Deployment"}:                               deploymentReady,
	{Group: "apps", Kind: "ReplicaSet"}:                               replicaSetReady,
	{Group: "apps", Kind: "StatefulSet"}:                              statefulSetReady,
	{Group: "apps", Kind: "DaemonSet"}:                                daemonSetReady,
	{Group: "batch", Kind: "Job"}:                                     jobReady,
	{Group: "", Kind: "Pod"}:                                          podReady,
	{Group: "", Kind: "Service"}:                                      serviceReady,
	{Group: "", Kind: "PersistentVolumeClaim"}:                        claimReady,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    budgetReady,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definitionReady,
}

// readiness judges a live object of any kind.
func readiness(gk schema.GroupKind, object map[string]any) (Readiness, string) {
	o := statusOf(object)
	if seen, ok := o.number(o.status, "observedGeneration"); ok {
		if generation, ok := o.number(o.metadata, "generation"); ok && seen != generation {
			return Progressing, "its controller has not seen the last change yet"
		}
	}
	if state, message := o.condition("Stalled"); state == "True" {
		return Stalled, message
	}
	if state, message := o.condition("Reconciling"); state == "True" {
		return Progressing, message
	}
	if f := readinessOfKind[gk]; f != nil {
		return f(o)
	}
	for _, name := range [...]string{"Ready", "Available"} {
		switch state, message := o.condition(name); state {
		case "":
		case "True":
			return Ready, ""
		default:
			return Progressing, message
		}
	}
	return Ready, "" // There is nothing to wait for, as in a ConfigMap.
}

func deploymentReady(o status) (Readiness, string) {
	for _, c := range o.conditions {
		if c["type"] == "Progressing" && c["reason"] == "ProgressDeadlineExceeded" {
			return Stalled, "it made no progress within its deadline; look at its Pods"
		}
	}
	want := o.spec("replicas", 1)
	have, updated, available := o.count("replicas"), o.count("updatedReplicas"), o.count("availableReplicas")
	switch {
	case updated < want:
		return o.because(of(updated, want, "updated"))
	case have > want:
		return Progressing, fmt.Sprintf("%d old ones still there", have-want)
	case available < want:
		return o.because(of(available, want, "available"))
	}
	return o.unless("Available")
}

// because adds why Pods could not be made, such as a quota. What names a Pod,
// another one with each try, is left out.
func (o status) because(state Readiness, message string) (Readiness, string) {
	failed, why := o.condition("ReplicaFailure")
	if failed != "True" || why == "" {
		return state, message
	}
	if _, rest, found := strings.Cut(why, " is forbidden: "); found {
		why = rest
	}
	return state, message + ": " + why
}

func replicaSetReady(o status) (Readiness, string) {
	if state, message := o.condition("ReplicaFailure"); state == "True" {
		return Progressing, message
	}
	want, have := o.spec("replicas", 1), o.count("replicas")
	for _, field := range [...]struct{ name, word string }{
		{"fullyLabeledReplicas", "labelled"}, {"availableReplicas", "available"}, {"readyReplicas", "ready"},
	} {
		if n := o.count(field.name); n < want {
			return of(n, want, field.word)
		}
	}
	if have > want {
		return Progressing, fmt.Sprintf("%d too many still there", have-want)
	}
	return Ready, ""
}

func statefulSetReady(o status) (Readiness, string) {
	strategy, _ := o.specMap["updateStrategy"].(map[string]any)
	if strategy["type"] == "OnDelete" {
		return Ready, "" // When it will be updated is for people to say.
	}
	want, have := o.spec("replicas", 1), o.count("replicas")
	switch {
	case have < want:
		return of(have, want, "created")
	case o.count("readyReplicas") < want:
		return of(o.count("readyReplicas"), want, "ready")
	case have > want:
		return Progressing, fmt.Sprintf("%d too many still there", have-want)
	}
	rolling, _ := strategy["rollingUpdate"].(map[string]any)
	if partition, ok := o.number(rolling, "partition"); ok && partition > 0 {
		if updated := o.count("updatedReplicas"); updated < want-partition {
			return of(updated, want-partition, "updated")
		}
		return Ready, ""
	}
	if o.status["currentRevision"] != o.status["updateRevision"] {
		return of(o.count("updatedReplicas"), want, "updated")
	}
	return Ready, ""
}

func daemonSetReady(o status) (Readiness, string) {
	want, ok := o.number(o.status, "desiredNumberScheduled")
	if _, seen := o.number(o.status, "observedGeneration"); !ok || !seen {
		return Progressing, "its controller has not seen it yet"
	}
	strategy, _ := o.specMap["updateStrategy"].(map[string]any)
	for _, field := range [...]struct{ name, word string }{
		{"currentNumberScheduled", "scheduled"}, {"updatedNumberScheduled", "updated"},
		{"numberAvailable", "available"}, {"numberReady", "ready"},
	} {
		if field.word == "updated" && strategy["type"] == "OnDelete" {
			continue
		}
		if n := o.count(field.name); n < want {
			return of(n, want, field.word)
		}
	}
	return Ready, ""
}

func jobReady(o status) (Readiness, string) {
	if state, message := o.condition("Failed"); state == "True" {
		return Stalled, message
	}
	if state, _ := o.condition("Complete"); state == "True" {
		return Ready, ""
	}
	if state, message := o.condition("Suspended"); state == "True" {
		return Progressing, message
	}
	if o.status["startTime"] == nil {
		return Progressing, "not started"
	}
	return of(o.count("succeeded"), o.spec("completions", o.spec("parallelism", 1)), "complete")
}

func podReady(o status) (Readiness, string) {
	switch o.status["phase"] {
	case "Succeeded":
		return Ready, ""
	case "Failed":
		return Stalled, "it failed"
	case "Running":
		if state, message := o.condition("Ready"); state != "True" {
			if o.crashLooping() {
				return Stalled, "a container crashes again and again"
			}
			return Progressing, message
		}
		return Ready, ""
	}
	if state, message := o.condition("PodScheduled"); state == "False" {
		return Progressing, message
	}
	if why := o.unstarted(); why != "" {
		return Progressing, why
	}
	return Progressing, "not running yet"
}

// unstarted says which container cannot start, and why. The two reasons of an image that
// cannot be pulled take turns, and so are told in the same words.
func (o status) unstarted() string {
	for _, list := range [...]string{"initContainerStatuses", "containerStatuses"} {
		containers, _ := o.status[list].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			state, _ := container["state"].(map[string]any)
			waiting, _ := state["waiting"].(map[string]any)
			switch reason, _ := waiting["reason"].(string); reason {
			case "", "ContainerCreating", "PodInitializing":
			case "ErrImagePull", "ImagePullBackOff":
				return fmt.Sprintf("container %q: image %v cannot be pulled; correct its name or the pull secret", container["name"], container["image"])
			default:
				return fmt.Sprintf("container %q: %s: %v", container["name"], reason, waiting["message"])
			}
		}
	}
	return ""
}

func (o status) crashLooping() bool {
	containers, _ := o.status["containerStatuses"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		state, _ := container["state"].(map[string]any)
		waiting, _ := state["waiting"].(map[string]any)
		if waiting["reason"] == "CrashLoopBackOff" {
			return true
		}
	}
	return false
}

func serviceReady(o status) (Readiness, string) {
	if ip, _ := o.specMap["clusterIP"].(string); o.specMap["type"] == "LoadBalancer" && ip == "" {
		return Progressing, "no address yet"
	}
	return Ready, ""
}

func claimReady(o status) (Readiness, string) {
	if o.status["phase"] == "Bound" {
		return Ready, ""
	}
	return Progressing, "not bound yet"
}

func budgetReady(o status) (Readiness, string) {
	want, ok := o.number(o.status, "desiredHealthy")
	if !ok {
		return Progressing, "its controller has not seen it yet"
	}
	if n := o.count("currentHealthy"); n < want {
		return of(n, want, "healthy")
	}
	return Ready, ""
}

func definitionReady(o status) (Readiness, string) {
	if state, message := o.condition("NamesAccepted"); state == "False" {
		return Stalled, message
	}
	if state, message := o.condition("Established"); state != "True" {
		return Progressing, message
	}
	return Ready, ""
}
