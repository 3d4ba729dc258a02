package schema

import runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

// A Removal says that Kubernetes no longer serves a version of a kind.
type Removal struct {
	In      string // the release of Kubernetes that removed it
	Instead string // the apiVersion that replaces it, or ""
}

// Removed returns since when Kubernetes does not serve a version of one of its own
// kinds, and false if it never did or still does.
func Removed(gvk runtimeschema.GroupVersionKind) (Removal, bool) {
	if r, ok := removals[gvk]; ok {
		return r, true
	}
	gvk.Kind = ""
	r, ok := removals[gvk]
	return r, ok
}

// removals are the removed versions of kinds, or with the kind "" of whole groups:
// https://kubernetes.io/docs/reference/using-api/deprecation-guide/.
var removals = map[runtimeschema.GroupVersionKind]Removal{
	{Group: "apps", Version: "v1beta1"}: {"1.16",
		"apps/v1"},
	{Group: "apps", Version: "v1beta2"}: {"1.16",
		"apps/v1"},
	{Group: "extensions", Version: "v1beta1", Kind: "DaemonSet"}: {"1.16",
		"apps/v1"},
	{Group: "extensions", Version: "v1beta1", Kind: "Deployment"}: {"1.16",
		"apps/v1"},
	{Group: "extensions", Version: "v1beta1", Kind: "ReplicaSet"}: {"1.16",
		"apps/v1"},
	{Group: "extensions", Version: "v1beta1", Kind: "NetworkPolicy"}: {"1.16",
		"networking.k8s.io/v1"},
	{Group: "extensions", Version: "v1beta1", Kind: "PodSecurityPolicy"}: {"1.16", ""},
	{Group: "extensions", Version: "v1beta1", Kind: "Ingress"}: {"1.22",
		"networking.k8s.io/v1"},
	{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "MutatingWebhookConfiguration"}: {"1.22",
		"admissionregistration.k8s.io/v1"},
	{Group: "admissionregistration.k8s.io", Version: "v1beta1", Kind: "ValidatingWebhookConfiguration"}: {"1.22",
		"admissionregistration.k8s.io/v1"},
	{Group: "apiextensions.k8s.io", Version: "v1beta1"}: {"1.22",
		"apiextensions.k8s.io/v1"},
	{Group: "apiregistration.k8s.io", Version: "v1beta1"}: {"1.22",
		"apiregistration.k8s.io/v1"},
	{Group: "certificates.k8s.io", Version: "v1beta1", Kind: "CertificateSigningRequest"}: {"1.22",
		"certificates.k8s.io/v1"},
	{Group: "coordination.k8s.io", Version: "v1beta1", Kind: "Lease"}: {"1.22",
		"coordination.k8s.io/v1"},
	{Group: "networking.k8s.io", Version: "v1beta1", Kind: "Ingress"}: {"1.22",
		"networking.k8s.io/v1"},
	{Group: "networking.k8s.io", Version: "v1beta1", Kind: "IngressClass"}: {"1.22",
		"networking.k8s.io/v1"},
	{Group: "rbac.authorization.k8s.io", Version: "v1alpha1"}: {"1.22",
		"rbac.authorization.k8s.io/v1"},
	{Group: "rbac.authorization.k8s.io", Version: "v1beta1"}: {"1.22",
		"rbac.authorization.k8s.io/v1"},
	{Group: "scheduling.k8s.io", Version: "v1alpha1", Kind: "PriorityClass"}: {"1.22",
		"scheduling.k8s.io/v1"},
	{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PriorityClass"}: {"1.22",
		"scheduling.k8s.io/v1"},
	{Group: "storage.k8s.io", Version: "v1beta1", Kind: "CSIDriver"}: {"1.22",
		"storage.k8s.io/v1"},
	{Group: "storage.k8s.io", Version: "v1beta1", Kind: "CSINode"}: {"1.22",
		"storage.k8s.io/v1"},
	{Group: "storage.k8s.io", Version: "v1beta1", Kind: "StorageClass"}: {"1.22",
		"storage.k8s.io/v1"},
	{Group: "storage.k8s.io", Version: "v1beta1", Kind: "VolumeAttachment"}: {"1.22",
		"storage.k8s.io/v1"},
	{Group: "storage.k8s.io", Version: "v1beta1", Kind: "CSIStorageCapacity"}: {"1.27",
		"storage.k8s.io/v1"},
	{Group: "batch", Version: "v2alpha1", Kind: "CronJob"}: {"1.21",
		"batch/v1"},
	{Group: "batch", Version: "v1beta1", Kind: "CronJob"}: {"1.25",
		"batch/v1"},
	{Group: "discovery.k8s.io", Version: "v1beta1", Kind: "EndpointSlice"}: {"1.25",
		"discovery.k8s.io/v1"},
	{Group: "events.k8s.io", Version: "v1beta1", Kind: "Event"}: {"1.25",
		"events.k8s.io/v1"},
	{Group: "autoscaling", Version: "v2beta1", Kind: "HorizontalPodAutoscaler"}: {"1.25",
		"autoscaling/v2"},
	{Group: "autoscaling", Version: "v2beta2", Kind: "HorizontalPodAutoscaler"}: {"1.26",
		"autoscaling/v2"},
	{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}: {"1.25",
		"policy/v1"},
	{Group: "policy", Version: "v1beta1", Kind: "PodSecurityPolicy"}: {"1.25", ""},
	{Group: "node.k8s.io", Version: "v1beta1", Kind: "RuntimeClass"}: {"1.25",
		"node.k8s.io/v1"},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta1"}: {"1.26",
		"flowcontrol.apiserver.k8s.io/v1"},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta2"}: {"1.29",
		"flowcontrol.apiserver.k8s.io/v1"},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1beta3"}: {"1.32",
		"flowcontrol.apiserver.k8s.io/v1"},
}
