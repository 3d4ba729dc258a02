// Package kstatus judges whether a live object is ready, by its status alone.
//
// It follows kstatus, the convention that kubectl, Argo CD and Flux share, with
// two differences. A Job is ready when it is complete, not when it has started:
// what depends on a Job needs its result. The conditions of a workload count only
// if it has some: simulated controllers in test clusters often set only the numbers.
package kstatus

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/projection"
)

// Readiness is how far a live object is.
type Readiness int

// The degrees of readiness.
const (
	Progressing Readiness = iota
	Ready
	Stalled // it failed, and does not become ready by itself
)

// Judge returns the readiness of an object of any kind, and why it is not ready.
func Judge(gk schema.GroupKind, object map[string]any) (Readiness, string) {
	o := statusOf(object)
	if !o.observed() {
		return Progressing, "its controller has not observed the last change yet"
	}
	if c := o.condition("Stalled"); c.state == "True" {
		return Stalled, c.message()
	}
	if c := o.condition("Reconciling"); c.state == "True" {
		return Progressing, c.message()
	}
	if judge := judges[gk]; judge != nil {
		return judge(o)
	}
	for _, name := range [...]string{"Ready", "Available"} {
		switch c := o.condition(name); c.state {
		case "":
		case "True":
			return Ready, ""
		default:
			return Progressing, c.message()
		}
	}
	return Ready, "" // There is nothing to wait for, as in a ConfigMap.
}

// judges maps kinds to functions that know their status.
var judges = map[schema.GroupKind]func(o status) (Readiness, string){
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
	if n, ok := o.numberIn(o.status, "expectedPods"); ok && n == 0 {
		return Ready, "" // It is computed. Of no Pods, none is ever healthy.
	}
	want, ok := o.numberIn(o.status, "desiredHealthy")
	if !ok {
		return Progressing, "its controller has not observed it yet"
	}
	if n := o.statusCount("currentHealthy"); n < want {
		return progressOf(n, want, "healthy")
	}
	return Ready, ""
}

func definitionReady(o status) (Readiness, string) {
	if c := o.condition("NamesAccepted"); c.state == "False" {
		return Stalled, c.message()
	}
	if c := o.condition("Established"); c.state != "True" {
		return Progressing, c.message()
	}
	return Ready, ""
}

// A status holds the parts of a live object that its readiness depends on.
type status struct {
	metadata, specMap, status map[string]any
	conditions                []any
}

func statusOf(object map[string]any) status {
	var o status
	o.metadata, _ = object["metadata"].(map[string]any)
	o.specMap, _ = object["spec"].(map[string]any)
	o.status, _ = object["status"].(map[string]any)
	o.conditions, _ = o.status["conditions"].([]any)
	return o
}

// observed reports whether the controller of the object has observed its last change, as far as the status tells. The
// generations of conditions count if the status as a whole has none, and the newest of them decides: a controller may
// renew only those that change.
func (o status) observed() bool {
	generation, known := o.numberIn(o.metadata, "generation")
	if !known {
		return true
	}
	if seen, ok := o.numberIn(o.status, "observedGeneration"); ok {
		return seen == generation
	}
	newest := int64(-1)
	for _, name := range [...]string{"Stalled", "Reconciling", "Ready", "Available"} {
		if seen, ok := o.numberIn(o.condition(name).fields, "observedGeneration"); ok {
			newest = max(newest, seen)
		}
	}
	return newest < 0 || newest >= generation
}

// A condition is one of an object's conditions.
type condition struct {
	name   string
	state  string         // its status, or "" if the object does not have it
	fields map[string]any // nil if the object does not have it
}

func (o status) condition(name string) condition {
	for _, item := range o.conditions {
		if c, _ := item.(map[string]any); c["type"] == name {
			state, _ := c["status"].(string)
			return condition{name, state, c}
		}
	}
	return condition{name: name}
}

// message returns the message of the condition, or the best substitute for one.
func (c condition) message() string {
	if c.fields == nil {
		return "condition " + c.name + " is not there yet"
	}
	for _, field := range [...]string{"message", "reason"} {
		if text, _ := c.fields[field].(string); text != "" {
			return text
		}
	}
	return c.name + " is " + c.state
}

// numberIn reads a whole number.
func (o status) numberIn(m map[string]any, field string) (int64, bool) {
	switch n := m[field].(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	case int:
		return int64(n), true
	}
	return 0, false
}

// statusCount reads a number of the status, in which Kubernetes omits zeros.
func (o status) statusCount(field string) int64 {
	n, _ := o.numberIn(o.status, field)
	return n
}

// specNumber reads a number of the spec that has a default.
func (o status) specNumber(field string, otherwise int64) int64 {
	if n, ok := o.numberIn(o.specMap, field); ok {
		return n
	}
	return otherwise
}

// progressOf returns Progressing with the number of objects that have reached a state.
func progressOf(n, want int64, word string) (Readiness, string) {
	return Progressing, fmt.Sprintf("%d of %d %s", n, want, word)
}

// commonInputs are the fields that Judge reads of every kind. A name that ends in [] is a
// list, of whose elements the rest of the path is read.
var commonInputs = []string{
	"metadata.generation", "status.observedGeneration",
	"status.conditions[].type", "status.conditions[].status", "status.conditions[].reason", "status.conditions[].message",
	"status.conditions[].observedGeneration",
}

// inputs are the fields that Judge and Finished read of some kinds besides commonInputs.
var inputs = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}: {"spec.replicas", "status.replicas", "status.updatedReplicas",
		"status.availableReplicas"},
	{Group: "apps", Kind: "ReplicaSet"}: {"spec.replicas", "status.replicas", "status.fullyLabeledReplicas",
		"status.availableReplicas", "status.readyReplicas"},
	{Group: "apps", Kind: "StatefulSet"}: {
		"spec.replicas", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition", "status.replicas",
		"status.readyReplicas", "status.updatedReplicas", "status.currentRevision", "status.updateRevision",
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		"spec.updateStrategy.type", "status.desiredNumberScheduled", "status.currentNumberScheduled",
		"status.updatedNumberScheduled", "status.numberAvailable", "status.numberReady",
	},
	{Group: "batch", Kind: "Job"}: {
		"spec.completions", "spec.parallelism", "status.startTime", "status.succeeded",
		"status.conditions[].lastTransitionTime", // for Finished
	},
	{Group: "", Kind: "Pod"}: {
		"status.phase",
		"status.initContainerStatuses[].name", "status.initContainerStatuses[].image",
		"status.initContainerStatuses[].state.waiting",
		"status.containerStatuses[].name", "status.containerStatuses[].image", "status.containerStatuses[].state.waiting",
	},
	{Group: "", Kind: "Service"}:               {"spec.clusterIP", "spec.type"},
	{Group: "", Kind: "PersistentVolumeClaim"}: {"status.phase"},
	{Group: "policy", Kind: "PodDisruptionBudget"}: {"status.desiredHealthy", "status.currentHealthy",
		"status.expectedPods"},
}

// KeepInputs keeps what Judge reads of an object.
func KeepInputs(gk schema.GroupKind, object *projection.Builder) {
	for _, paths := range [][]string{commonInputs, inputs[gk]} {
		for _, path := range paths {
			b := object
			for name := range strings.SplitSeq(path, ".") {
				name, isList := strings.CutSuffix(name, "[]")
				if b = b.Field(name); isList {
					b = b.Each()
				}
			}
			b.Keep()
		}
	}
}
