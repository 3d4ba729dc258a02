package kstatus

import "k8s.io/apimachinery/pkg/runtime/schema"

// meanings say when objects of the kinds in judges are ready, in a sentence without its
// beginning: "it is ready when ...".
var meanings = map[schema.GroupKind]string{
	{Group: "apps", Kind: "Deployment"}:  "all of its replicas are updated and available",
	{Group: "apps", Kind: "ReplicaSet"}:  "all of its replicas are available and ready",
	{Group: "apps", Kind: "StatefulSet"}: "all of its replicas are updated and ready",
	{Group: "apps", Kind: "DaemonSet"}: "its Pods are updated, available and ready on " +
		"all of its Nodes",
	{Group: "batch", Kind: "Job"}: "it is complete",
	{Group: "", Kind: "Pod"}:      "it runs and is ready, or has succeeded",
	{Group: "", Kind: "Service"}: "it exists, and has an address if it is a load " +
		"balancer",
	{Group: "", Kind: "PersistentVolumeClaim"}:                        "it is bound",
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    "enough of its Pods are healthy",
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "the API server serves its kind",
}

// Meaning says when an object of a kind is ready, as Judge decides. It returns "" for a
// kind of which only its conditions are known.
func Meaning(gk schema.GroupKind) string { return meanings[gk] }
