package kstatus

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/projection"
)

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
