package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
)

func kindName(group, kind string) runtimeschema.GroupKind {
	return runtimeschema.GroupKind{Group: group, Kind: kind}
}

// These are the kinds with behaviour of their own.
var (
	namespaceKind  = kindName("", "Namespace")
	serviceKind    = kindName("", "Service")
	podKind        = kindName("", "Pod")
	eventKind      = kindName("", "Event")
	claimKind      = kindName("", "PersistentVolumeClaim")
	volumeKind     = kindName("", "PersistentVolume")
	deploymentKind = kindName("apps", "Deployment")
	jobKind        = kindName("batch", "Job")
	cronJobKind    = kindName("batch", "CronJob")
	quotaKind      = kindName("", "ResourceQuota")
	definitionKind = kindName("apiextensions.k8s.io", "CustomResourceDefinition")
)

// generations are the built-in kinds whose objects have a generation, by group. The schemas
// do not tell: metadata.generation is part of every kind, and Go code sets it.
var generations = map[string][]string{
	"":     {"Pod", "PodTemplate", "ReplicationController"},
	"apps": {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"}, "batch": {"Job", "CronJob"},
	"networking.k8s.io": {"Ingress", "IngressClass", "NetworkPolicy"}, "discovery.k8s.io": {"EndpointSlice"},
	"autoscaling": {"HorizontalPodAutoscaler"},
	"policy":      {"PodDisruptionBudget"}, "scheduling.k8s.io": {"PriorityClass"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
		"MutatingAdmissionPolicyBinding"},
}

// orphaners are the kinds whose dependents are orphaned by default, for compatibility
// with clients from before garbage collection. The schemas do not tell.
var orphaners = map[runtimeschema.GroupVersionKind]bool{
	{Group: "batch", Version: "v1", Kind: "Job"}:   true,
	{Version: "v1", Kind: "ReplicationController"}: true,
}

// initialise sets the fields of a new built-in object.
func (c *Cluster) initialise(k *schema.Kind, u *unstructured.Unstructured) {
	switch k.GVK.GroupKind() {
	case serviceKind:
		editService(u, c.allocateAddress)
	case podKind, claimKind, volumeKind:
		status := map[string]any{"phase": "Pending"}
		if gates, _, _ := unstructured.NestedSlice(u.Object, "spec", "schedulingGates"); len(gates) > 0 {
			status["conditions"] = []any{map[string]any{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
				"message":            "Scheduling is blocked due to non-empty scheduling gates",
				"lastTransitionTime": c.now().Format(time.RFC3339)}}
		}
		u.Object["status"] = status
	case namespaceKind:
		u.Object["status"] = map[string]any{"phase": "Active"}
		// The object is canonical, so that spec is a map.
		_ = unstructured.SetNestedStringSlice(u.Object, []string{"kubernetes"}, "spec", "finalizers")
	}
}

// labelNamespace sets the label that every Namespace has.
func labelNamespace(u *unstructured.Unstructured) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["kubernetes.io/metadata.name"] = u.GetName()
	u.SetLabels(labels)
}
