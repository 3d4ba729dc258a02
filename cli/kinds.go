package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/source"
)

// clusterKinds are the kinds of Kubernetes' own groups that do not live in a
// namespace. Without a cluster there is nobody to ask.
var clusterKinds = map[string][]string{
	"":                             {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"authentication.k8s.io":        {"SelfSubjectReview", "TokenReview"},
	"authorization.k8s.io":         {"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"internal.apiserver.k8s.io":    {"StorageVersion"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io":               {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"},
	"storagemigration.k8s.io":      {"StorageVersionMigration"},
}

// kinds knows what can be known about kinds without a cluster: what Kubernetes
// brings along, and the CRDs that were given.
type kinds struct {
	crds map[schema.GroupKind]*crd
}

// given reports whether there are any CRDs, so that a kind without one is
// unknown and not just undescribed.
func (k kinds) given() bool { return len(k.crds) > 0 }

// clusterScoped reports whether objects of a kind live in no namespace. A kind
// that nothing is known about is taken for a namespaced one.
func (k kinds) clusterScoped(gk schema.GroupKind) bool {
	if c := k.crds[gk]; c != nil {
		return c.Spec.Scope == "Cluster"
	}
	return slices.Contains(clusterKinds[gk.Group], gk.Kind)
}

// namespaced reports whether objects of a kind are known to live in one.
func (k kinds) namespaced(gk schema.GroupKind) bool {
	return (k.crds[gk] != nil || rules.BuiltIn(gk.Group)) && !k.clusterScoped(gk)
}

// place gives an object without a namespace the one that it would be created
// in.
func (k kinds) place(o *object, namespace string) {
	if o.GetNamespace() == "" && !k.clusterScoped(o.GroupVersionKind().GroupKind()) {
		o.SetNamespace(namespace)
	}
}

// meantKind returns the kind that a misspelt one may have meant, to go behind
// it. Name and group are compared each for itself: a long group would make any
// two of its kinds alike.
func meantKind(gk schema.GroupKind, known []schema.GroupKind) string {
	near := func(a, b string) bool { return a == b || source.Nearest(a, []string{b}) == b }
	for _, k := range known {
		if near(gk.Kind, k.Kind) && near(gk.Group, k.Group) {
			return fmt.Sprintf(" (did you mean %s?)", k)
		}
	}
	return ""
}

// known returns the kinds of the CRDs.
func (k kinds) known() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(k.crds), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}
