package scaffold

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/sim"
)

// setAnnotations are annotations that controllers and kubectl write.
var setAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"kubectl.kubernetes.io/restartedAt",
	"deployment.kubernetes.io/revision",
	"deprecated.daemonset.template.generation",
	"pv.kubernetes.io/bind-completed",
	"pv.kubernetes.io/bound-by-controller",
	"volume.kubernetes.io/storage-provisioner",
	"volume.beta.kubernetes.io/storage-provisioner",
	"volume.kubernetes.io/selected-node",
}

// writable are the fields of metadata that people set.
var writable = map[string]bool{"name": true, "namespace": true, "labels": true, "annotations": true, "finalizers": true}

// cleaned returns a manifest without what the API server and controllers set. An object
// that comes from a cluster also loses defaults.
func cleaned(u *unstructured.Unstructured, kinds *sim.Kinds) map[string]any {
	out := withoutNulls(runtime.DeepCopyJSON(u.Object)).(map[string]any)
	delete(out, "status")
	maps.DeleteFunc(out, func(_ string, v any) bool { // The API server does not store them.
		list, isList := v.([]any)
		return isList && len(list) == 0
	})
	metadata, _ := out["metadata"].(map[string]any)
	for key := range metadata {
		if !writable[key] {
			delete(metadata, key)
		}
	}
	everywhere(place{value: out}, func(key string, p place) {
		annotations, isMap := p.value.(map[string]any)
		if key != "annotations" || !isMap {
			return
		}
		for _, name := range setAnnotations {
			delete(annotations, name)
		}
	})
	for _, at := range metadataPaths {
		each(out, at, func(p place) {
			if m, isMap := p.value.(map[string]any); isMap {
				delete(m, "creationTimestamp")
			}
		})
	}
	if u.GetUID() != "" || u.GetResourceVersion() != "" {
		withoutDefaults(&unstructured.Unstructured{Object: out}, kinds)
	}
	return out
}

// metadataPaths are the paths of the metadata in an object.
var metadataPaths = []string{"metadata", "spec.template.metadata", "spec.jobTemplate.metadata",
	"spec.jobTemplate.spec.template.metadata", "spec.volumeClaimTemplates.*.metadata"}

// withoutEmptyMetadata removes labels and annotations without an entry.
func withoutEmptyMetadata(o map[string]any) {
	for _, at := range metadataPaths {
		for _, entry := range []string{".labels", ".annotations"} {
			remove(o, at+entry, func(v any) bool { return size(v) == 0 })
		}
	}
}

// withoutNulls removes null entries, which the API server ignores.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
				continue
			}
			v[key] = withoutNulls(value)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
