package schema

import runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

// immutable are the fields of Kubernetes' kinds that no update changes: the validation of updates in pkg/apis of
// Kubernetes 1.37, such as ValidateStatefulSetUpdate.
var immutable = map[runtimeschema.GroupKind][][]string{
	{Group: "apps", Kind: "Deployment"}: {{"spec", "selector"}},
	{Group: "apps", Kind: "ReplicaSet"}: {{"spec", "selector"}},
	{Group: "apps", Kind: "DaemonSet"}:  {{"spec", "selector"}},
	{Group: "apps", Kind: "StatefulSet"}: {{"spec", "selector"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"},
		{"spec", "volumeClaimTemplates"}},
	{Group: "batch", Kind: "Job"}: {{"spec", "selector"}, {"spec", "completionMode"}, {"spec", "podFailurePolicy"},
		{"spec", "backoffLimitPerIndex"}, {"spec", "successPolicy"}, {"spec", "managedBy"}},
	{Kind: "Secret"}:        {{"type"}},
	{Kind: "ResourceQuota"}: {{"spec", "scopes"}},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:               {{"addressType"}},
	{Group: "networking.k8s.io", Kind: "IngressClass"}:               {{"spec", "controller"}},
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                     {{"handler"}},
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        {{"roleRef"}},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: {{"roleRef"}},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:              {{"value"}, {"preemptionPolicy"}},
	{Group: "storage.k8s.io", Kind: "StorageClass"}: {{"provisioner"}, {"parameters"}, {"reclaimPolicy"},
		{"volumeBindingMode"}},
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}: {{"driverName"}, {"parameters"}},
}

// Immutable returns the fields of a kind that the API server lets no update change, whatever the state of the object.
func Immutable(gk runtimeschema.GroupKind) [][]string { return immutable[gk] }
