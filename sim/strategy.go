package sim

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/rules/schema"
)

// These functions do what the API server does to objects of a kind before it stores them.

// prepareCreate sets the fields of a new object. It has no status, except for the default of its CRD.
func (ks *Kinds) prepareCreate(k *schema.Kind, u *unstructured.Unstructured) {
	if k.Status {
		delete(u.Object, "status")
	}
	if k.Custom {
		ks.custom(k).Default(u)
	}
	if hasGeneration(k) {
		u.SetGeneration(1)
	} else {
		unstructured.RemoveNestedField(u.Object, "metadata", "generation")
	}
	if k.GVK.GroupKind() == namespaceKind {
		labelNamespace(u)
	}
}

func hasGeneration(k *schema.Kind) bool {
	return k.Custom || slices.Contains(generations[k.GVK.Group], k.GVK.Kind)
}

// prepareUpdate restores the fields that the request may not change, and increments the
// generation.
func (c *Cluster) prepareUpdate(k *schema.Kind, u, old *unstructured.Unstructured) {
	if k.Status {
		restoreField(u, old, "status")
	}
	switch k.GVK.GroupKind() {
	case serviceKind:
		c.updateService(u, old)
	case definitionKind:
		storedVersion(u)
	case namespaceKind:
		restoreField(u, old, "spec") // It has finalizers and nothing else.
	}
	switch {
	case !hasGeneration(k):
	case k.GVK.GroupKind() == podKind && equality.Semantic.DeepEqual(u.Object["spec"], old.Object["spec"]):
	case k.GVK.GroupKind() == deploymentKind && !equality.Semantic.DeepEqual(u.GetAnnotations(), old.GetAnnotations()),
		differsOutsideMetadata(u, old):
		u.SetGeneration(old.GetGeneration() + 1)
	}
}

// restoreField sets a field to its old value.
func restoreField(u, old *unstructured.Unstructured, name string) {
	if value, had := old.Object[name]; had {
		u.Object[name] = value
	} else {
		delete(u.Object, name)
	}
}

// differsOutsideMetadata reports whether more than metadata differs.
func differsOutsideMetadata(a, b *unstructured.Unstructured) bool {
	for _, pair := range [][2]*unstructured.Unstructured{{a, b}, {b, a}} {
		for name, value := range pair[0].Object {
			if name != "metadata" && name != "apiVersion" && !equality.Semantic.DeepEqual(value, pair[1].Object[name]) {
				return true
			}
		}
	}
	return false
}

// prepareStatus restores the fields that a write of the status may not change.
func prepareStatus(k *schema.Kind, u, old *unstructured.Unstructured) {
	for _, fields := range []map[string]any{maps.Clone(u.Object), old.Object} {
		for name := range fields {
			if name != "status" && name != "metadata" {
				restoreField(u, old, name)
			}
		}
	}
	managed, _ := managedFields(u)
	switch {
	case k.Custom:
		metadata := old.DeepCopy().Object["metadata"].(map[string]any)
		metadata["managedFields"] = managed
		u.Object["metadata"] = metadata
	case k.GVK.GroupKind() == deploymentKind:
		u.SetLabels(old.GetLabels())
	case k.GVK.GroupKind() == podKind:
		u.SetOwnerReferences(old.GetOwnerReferences())
	}
}

// builtinStatusReset returns the fields that a write of a built-in kind's status does not own.
func builtinStatusReset(k *schema.Kind) *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	switch k.GVK.GroupKind() {
	case deploymentKind:
		set.Insert(fieldpath.MakePathOrDie("metadata", "labels"))
	case podKind:
		set.Insert(fieldpath.MakePathOrDie("metadata", "deletionTimestamp"))
		set.Insert(fieldpath.MakePathOrDie("metadata", "ownerReferences"))
	}
	return set
}

// validate validates a new object, or a change of an old one.
func (c *Cluster) validate(k *schema.Kind, subresource string, u, old *unstructured.Unstructured) field.ErrorList {
	metadata := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(u, k.Namespaced, nameRule(k), metadata)
	if old != nil {
		errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(u, old, metadata)...)
	}
	if k.Custom {
		return append(errs, c.Kinds().custom(k).validation().validate(subresource, u, old)...)
	}
	if k.GVK.GroupKind() == definitionKind && subresource == "" {
		errs = append(errs, schema.InvalidDefinition(u, old)...)
	}
	errs = append(errs, invalidFinalizers(u)...)
	errs = append(errs, contradictoryStrategy(k.GVK.GroupKind(), u)...)
	errs = append(errs, collidingPorts(k.GVK.GroupKind(), u)...)
	if old == nil {
		return append(errs, tooLong(k.GVK.GroupKind(), u)...)
	}
	return append(errs, changedImmutable(k.GVK.GroupKind(), u, old)...)
}

// invalidFinalizers rejects finalizers without a domain, which built-in kinds do not allow.
func invalidFinalizers(u *unstructured.Unstructured) (errs field.ErrorList) {
	for i, f := range u.GetFinalizers() {
		if !strings.Contains(f, "/") && f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents &&
			f != "kubernetes" {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), f,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// nameRule returns the validation of a kind's names.
func nameRule(k *schema.Kind) validation.ValidateNameFunc {
	switch gk := k.GVK.GroupKind(); {
	case gk == namespaceKind, gk == serviceKind, gk == kindName("apps", "StatefulSet"):
		return validation.NameIsDNSLabel
	case gk.Group == "rbac.authorization.k8s.io", gk.Group == "policy":
		return func(string, bool) []string { return nil } // Any path segment is valid, and that is checked already.
	}
	return validation.NameIsDNSSubdomain
}
