package schema

import (
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// replaceable are the kinds of Kubernetes whose objects hold nothing but what their authors wrote: an object that is
// deleted and created again is the same.
var replaceable = map[string][]string{
	"": {"ConfigMap", "Endpoints", "LimitRange", "Pod", "ReplicationController",
		"ResourceQuota", "Secret", "Service", "ServiceAccount"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
		"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apps":                      {"DaemonSet", "Deployment", "ReplicaSet"},
	"autoscaling":               {"HorizontalPodAutoscaler"},
	"batch":                     {"CronJob", "Job"},
	"discovery.k8s.io":          {"EndpointSlice"},
	"networking.k8s.io":         {"Ingress", "IngressClass", "NetworkPolicy"},
	"node.k8s.io":               {"RuntimeClass"},
	"policy":                    {"PodDisruptionBudget"},
	"rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	"scheduling.k8s.io":         {"PriorityClass"},
	"storage.k8s.io":            {"CSIDriver", "StorageClass"},
}

// Replaceable reports whether nothing is lost when an object of a kind is deleted and created
// again. It is false for kinds that hold data, such as claims of volumes, for those whose deletion
// deletes other objects, such as a Namespace, and for custom kinds, which may hold data.
func Replaceable(gk runtimeschema.GroupKind) bool {
	return slices.Contains(replaceable[gk.Group], gk.Kind)
}
