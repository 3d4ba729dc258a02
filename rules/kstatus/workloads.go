package kstatus

import (
	"fmt"
	"strings"
)

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
		return Progressing, fmt.Sprintf("%d old replicas still exist", have-want)
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
		return Progressing, fmt.Sprintf("%d surplus replicas still exist", have-want)
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
		return Progressing, fmt.Sprintf("%d surplus replicas still exist", have-want)
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
		if n := o.count(field.name); n < want {
			return of(n, want, field.word)
		}
	}
	return Ready, ""
}
