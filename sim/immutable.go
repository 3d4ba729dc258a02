package sim

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"reconcel/rules/schema"
)

// Immutable fields are the validation of built-in kinds that rules meet most: a rule must
// replace a Job to change its template.

const cannotChange = "field is immutable"

// forbidden has the immutable fields whose change is forbidden in words of its own.
var forbidden = map[runtimeschema.GroupKind]map[string]string{
	kindName("scheduling.k8s.io", "PriorityClass"): {"value": "may not be changed in an update."},
	kindName("storage.k8s.io", "VolumeAttributesClass"): {
		"driverName": "updates to driverName are forbidden.", "parameters": "updates to parameters are forbidden."},
}

// changedImmutable returns errors for changed immutable fields.
func changedImmutable(gk runtimeschema.GroupKind, u, old *unstructured.Unstructured) (errs field.ErrorList) {
	for _, path := range schema.Immutable(gk) {
		now, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		was, _, _ := unstructured.NestedFieldNoCopy(old.Object, path...)
		at := field.NewPath(path[0], path[1:]...)
		switch why := forbidden[gk][at.String()]; {
		case equality.Semantic.DeepEqual(now, was), gk == quotaKind && sameSet(now, was):
		case why != "":
			errs = append(errs, field.Forbidden(at, why))
		default:
			errs = append(errs, field.Invalid(at, now, cannotChange))
		}
	}
	if frozen, _ := old.Object["immutable"].(bool); frozen {
		errs = append(errs, changedFrozen(u, old)...)
	}
	if changed := validateUpdate[gk]; changed != nil {
		errs = append(errs, changed(u, old)...)
	}
	return errs
}

// sameSet reports whether two lists have the same texts.
func sameSet(a, b any) bool {
	texts := func(list any) sets.Set[any] {
		items, _ := list.([]any)
		return sets.New(items...)
	}
	return texts(a).Equal(texts(b))
}

// contradictoryStrategy rejects the details of another strategy, such as the defaulted ones
// of the strategy before a change.
func contradictoryStrategy(gk runtimeschema.GroupKind, u *unstructured.Unstructured) field.ErrorList {
	name := "updateStrategy"
	if gk == deploymentKind {
		name = "strategy"
	}
	rolling := field.NewPath("spec", name, "rollingUpdate")
	strategy, _, _ := unstructured.NestedMap(u.Object, "spec", name)
	switch {
	case strategy["rollingUpdate"] == nil:
	case gk == deploymentKind && strategy["type"] == "Recreate":
		return field.ErrorList{field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'")}
	case gk == kindName("apps", "StatefulSet") && strategy["type"] == "OnDelete":
		return field.ErrorList{field.Invalid(rolling, strategy["rollingUpdate"],
			"only allowed for updateStrategy 'RollingUpdate'")}
	}
	return nil
}

// changedFrozen is for a ConfigMap or Secret with immutable: true.
func changedFrozen(u, old *unstructured.Unstructured) (errs field.ErrorList) {
	for _, name := range []string{"immutable", "data", "binaryData"} {
		if !equality.Semantic.DeepEqual(u.Object[name], old.Object[name]) {
			errs = append(errs, field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set"))
		}
	}
	return errs
}
