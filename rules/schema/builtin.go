package schema

import (
	"compress/gzip"
	_ "embed" // for the packed descriptions
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// packed is a Document in JSON, which the command pack makes.
//
//go:embed kubernetes.gz
var packed string

// builtin is the content of packed.
var builtin = sync.OnceValue(func() *source {
	s := newSource()
	s.addDocument(unpack[*Document](packed))
	return s
})

// unpack reads one of the embedded files.
func unpack[T any](data string) (content T) {
	z, err := gzip.NewReader(strings.NewReader(data))
	if err == nil {
		err = json.NewDecoder(z).Decode(&content)
	}
	if err != nil {
		panic(fmt.Sprintf("schema: the embedded schemas cannot be read: %v", err)) // Tests read them.
	}
	return content
}

// Descriptions are the descriptions of definitions, by the name of the definition and the
// field. That of the definition itself has the field "".
type Descriptions map[string]map[string]string

// packedDescriptions are Descriptions in JSON, which the command pack makes.
//
//go:embed descriptions.gz
var packedDescriptions string

// descriptions is the content of packedDescriptions. Only editors need it: until somebody
// asks, it costs no memory.
var descriptions = sync.OnceValue(func() Descriptions { return unpack[Descriptions](packedDescriptions) })

// Description returns what Kubernetes says about a field of one of its own definitions, or
// "". The field "" is the definition itself.
func Description(definition, field string) string { return descriptions()[definition][field] }

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
