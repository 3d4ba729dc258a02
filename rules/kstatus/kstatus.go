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
