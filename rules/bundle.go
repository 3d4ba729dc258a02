package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules/syntax"
)

// A bundle is the primary of a rule for the cluster. The API server has no such kind: a
// ConfigMap of the installation has the state of the bundle, and is its namespace and name.
// The bundle itself is not that ConfigMap. It ends with its rule, so whoever deletes the
// ConfigMap, or restores one from a backup, does not make another bundle of it.

// BundleKind is the kind of bundles in the marks on their objects.
var BundleKind = parseGVK(syntax.BundleAPIVersion, syntax.BundleKind)

// BundleObject is the kind of the object that has the state of a bundle.
var BundleObject = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// LabelBundle on the ConfigMap of a bundle is the name of its rule.
const LabelBundle = reserved + "bundle"

// ForCluster reports whether the rule has no primaries but one bundle.
func (r *Rule) ForCluster() bool { return r.GVK == BundleKind }

// ForCluster reports whether the primaries are bundles.
func (p *Primary) ForCluster() bool { return p.GVK == BundleKind }

// BundleName returns the name of the ConfigMap of the bundle of a rule.
func BundleName(installation, rule string) string { return installation + "-bundle-" + rule }

// BundleRule returns the name of the rule of a bundle, from its ConfigMap.
func BundleRule(configMap map[string]any) string { return LabelsOf(configMap).Get(LabelBundle) }

// IsBundle reports whether an object is the ConfigMap of a bundle.
func IsBundle(u *unstructured.Unstructured) bool {
	rule := BundleRule(u.Object)
	return u.GroupVersionKind() == BundleObject && rule != "" && strings.HasSuffix(u.GetName(), BundleName("", rule))
}

// BundleUID returns the UID of a bundle in the marks on its objects. It does not depend on
// the ConfigMap, which may be created again. Offline there is no installation, and no UID.
func BundleUID(namespace, name string) types.UID {
	if namespace == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("bundle/" + namespace + "/" + name))
	return types.UID("bundle-" + hex.EncodeToString(sum[:12]))
}

// BundleOwner returns the bundle of a rule as the owner of its objects.
func BundleOwner(namespace, installation, rule string) Owner {
	name := BundleName(installation, rule)
	return Owner{Kind: BundleKind.GroupKind(), Namespace: namespace, Name: name, UID: BundleUID(namespace, name)}
}

// SiblingOf returns the bundle of another rule in the installation of a rule's bundle.
func SiblingOf(bundle Owner, rule, other string) Owner {
	installation, _ := strings.CutSuffix(bundle.Name, BundleName("", rule))
	return BundleOwner(bundle.Namespace, installation, other)
}

// NewBundle returns the ConfigMap of the bundle of a rule.
func NewBundle(bundle Owner, rule string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"rule": rule}}}
	u.SetGroupVersionKind(BundleObject)
	u.SetNamespace(bundle.Namespace)
	u.SetName(bundle.Name)
	u.SetLabels(map[string]string{LabelBundle: rule})
	return u
}

// UIDOf returns the UID by which the objects of a primary name it.
func UIDOf(kind schema.GroupKind, primary interface {
	GetNamespace() string
	GetName() string
	GetUID() types.UID
}) types.UID {
	if kind == BundleKind.GroupKind() {
		return BundleUID(primary.GetNamespace(), primary.GetName())
	}
	return primary.GetUID()
}

// shownKind returns the kind of a primary as people find it in the cluster.
func shownKind(kind schema.GroupKind) schema.GroupKind {
	if kind == BundleKind.GroupKind() {
		return BundleObject.GroupKind()
	}
	return kind
}
