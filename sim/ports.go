package sim

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// podSpecs are the paths of the Pod specs of built-in kinds.
var podSpecs = map[runtimeschema.GroupKind][]string{
	podKind:                               {"spec"},
	deploymentKind:                        {"spec", "template", "spec"},
	jobKind:                               {"spec", "template", "spec"},
	kindName("apps", "ReplicaSet"):        {"spec", "template", "spec"},
	kindName("apps", "DaemonSet"):         {"spec", "template", "spec"},
	kindName("apps", "StatefulSet"):       {"spec", "template", "spec"},
	cronJobKind:                           {"spec", "jobTemplate", "spec", "template", "spec"},
	kindName("", "PodTemplate"):           {"template", "spec"},
	kindName("", "ReplicationController"): {"spec", "template", "spec"},
}

// collidingPorts rejects ports of the same name. Their names are no keys, so that two managers can each
// apply one.
func collidingPorts(gk runtimeschema.GroupKind, u *unstructured.Unstructured) (errs field.ErrorList) {
	if gk == serviceKind {
		ports, _, _ := unstructured.NestedSlice(u.Object, "spec", "ports")
		return append(unnamed(ports, field.NewPath("spec", "ports")), sameNames(ports, field.NewPath("spec", "ports"))...)
	}
	path, found := podSpecs[gk]
	if !found {
		return nil
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _, _ := unstructured.NestedSlice(u.Object, append(path[:len(path):len(path)], list)...)
		at := field.NewPath(path[0], path[1:]...).Child(list)
		for i, c := range containers {
			container, _ := c.(map[string]any)
			ports, _ := container["ports"].([]any)
			errs = append(errs, sameNames(ports, at.Index(i).Child("ports"))...)
		}
	}
	return errs
}

// unnamed rejects ports of a Service without a name, unless there is only one.
func unnamed(ports []any, at *field.Path) (errs field.ErrorList) {
	if len(ports) < 2 {
		return nil
	}
	for i, p := range ports {
		if port, _ := p.(map[string]any); port["name"] == nil || port["name"] == "" {
			errs = append(errs, field.Required(at.Index(i).Child("name"), ""))
		}
	}
	return errs
}

func sameNames(ports []any, at *field.Path) (errs field.ErrorList) {
	known := map[string]bool{}
	for i, p := range ports {
		port, _ := p.(map[string]any)
		name, _ := port["name"].(string)
		if name != "" && known[name] {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), name))
		}
		known[name] = true
	}
	return errs
}
