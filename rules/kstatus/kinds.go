package kstatus

import "k8s.io/apimachinery/pkg/runtime/schema"

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
