package sim

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Immutable fields are the validation of built-in kinds that rules meet most: a rule must
// replace a Job to change its template.

const cannotChange = "field is immutable"

// immutableFields are the immutable fields of each kind.
var immutableFields = map[runtimeschema.GroupKind][][]string{
	deploymentKind:                 {{"spec", "selector"}},
	kindName("apps", "ReplicaSet"): {{"spec", "selector"}},
	kindName("apps", "DaemonSet"):  {{"spec", "selector"}},
	kindName("apps", "StatefulSet"): {{"spec", "selector"}, {"spec", "volumeClaimTemplates"}, {"spec", "serviceName"},
		{"spec", "podManagementPolicy"}},
	jobKind: {{"spec", "selector"}, {"spec", "template"}, {"spec", "completions"},
		{"spec", "completionMode"}},
	kindName("", "Secret"):                                      {{"type"}},
	kindName("rbac.authorization.k8s.io", "RoleBinding"):        {{"roleRef"}},
	kindName("rbac.authorization.k8s.io", "ClusterRoleBinding"): {{"roleRef"}},
}

// mutableSpecFields are the mutable fields of specs that are immutable otherwise.
var mutableSpecFields = map[runtimeschema.GroupKind][]string{
	podKind:   {"activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations"},
	claimKind: {"resources", "volumeAttributesClassName"},
}

// changedImmutable returns errors for changed immutable fields.
func changedImmutable(gk runtimeschema.GroupKind, u, old *unstructured.Unstructured) (errs field.ErrorList) {
	for _, path := range immutableFields[gk] {
		now, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		was, _, _ := unstructured.NestedFieldNoCopy(old.Object, path...)
		if !equality.Semantic.DeepEqual(now, was) {
			errs = append(errs, field.Invalid(field.NewPath(path[0], path[1:]...), "", cannotChange))
		}
	}
	if free, ok := mutableSpecFields[gk]; ok &&
		!equality.Semantic.DeepEqual(immutableSpec(gk, u, free), immutableSpec(gk, old, free)) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "updates may not change fields other than some"))
	}
	if frozen, _ := old.Object["immutable"].(bool); frozen {
		errs = append(errs, changedFrozen(u, old)...)
	}
	if gk == serviceKind {
		errs = append(errs, changedAddress(u, old)...)
	}
	return errs
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

// immutableSpec returns the spec without its mutable fields.
func immutableSpec(gk runtimeschema.GroupKind, u *unstructured.Unstructured, free []string) map[string]any {
	spec, _ := u.Object["spec"].(map[string]any)
	out := maps.Clone(spec)
	maps.DeleteFunc(out, func(name string, _ any) bool { return slices.Contains(free, name) })
	if gk != podKind {
		return out
	}
	for _, name := range []string{"containers", "initContainers"} {
		list, _ := out[name].([]any)
		bare := make([]any, len(list))
		for i := range list {
			container, _ := list[i].(map[string]any)
			container = maps.Clone(container)
			delete(container, "image")
			bare[i] = container
		}
		out[name] = bare
	}
	return out
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

func changedAddress(u, old *unstructured.Unstructured) field.ErrorList {
	was, _, _ := unstructured.NestedString(old.Object, "spec", "clusterIP")
	now, _, _ := unstructured.NestedString(u.Object, "spec", "clusterIP")
	if kind, _, _ := unstructured.NestedString(u.Object, "spec", "type"); kind == "ExternalName" || was == "" ||
		was == now {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs").Index(0), now, "may not change once set")}
}
