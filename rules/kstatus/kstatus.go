// Package kstatus judges whether a live object is ready, by its status alone.
//
// It follows kstatus, the convention that kubectl, Argo CD and Flux share, with
// two differences. A Job is ready when it is complete, not when it has started:
// what depends on a Job needs its result. The conditions of a workload count only
// if it has some: simulated controllers in test clusters often set only the numbers.
package kstatus

import "k8s.io/apimachinery/pkg/runtime/schema"

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
