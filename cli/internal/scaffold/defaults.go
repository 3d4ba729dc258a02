package scaffold

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim"
)

// A preset is a value that the API server gives a field, and the cluster in memory does not.
type preset struct {
	pattern string
	value   any // nil: any value, which the server chooses
}

// podPresets are those of a Pod.
var podPresets = []preset{
	{"dnsPolicy", "ClusterFirst"},
	{"schedulerName", "default-scheduler"},
	{"terminationGracePeriodSeconds", int64(30)},
	{"securityContext", map[string]any{}},
	{"enableServiceLinks", true},
	{"preemptionPolicy", "PreemptLowerPriority"},
	{"priority", int64(0)},
	{"serviceAccount", nil}, // The old name of serviceAccountName.
	{"volumes.*.configMap.defaultMode", int64(420)},
	{"volumes.*.secret.defaultMode", int64(420)},
	{"volumes.*.projected.defaultMode", int64(420)},
	{"volumes.*.downwardAPI.defaultMode", int64(420)},
	{"volumes.*.hostPath.type", ""},
}

// containerPresets are those of a container.
var containerPresets = []preset{
	{"terminationMessagePath", "/dev/termination-log"},
	{"terminationMessagePolicy", "File"},
	{"env.*.valueFrom.fieldRef.apiVersion", "v1"},
}

// probePresets are those of a probe.
var probePresets = []preset{
	{"timeoutSeconds", int64(1)},
	{"periodSeconds", int64(10)},
	{"successThreshold", int64(1)},
	{"failureThreshold", int64(3)},
	{"httpGet.scheme", "HTTP"},
}

// kindPresets are those of kinds.
var kindPresets = map[string][]preset{
	"StatefulSet": {
		{"spec.volumeClaimTemplates.*.status", nil},
		{"spec.volumeClaimTemplates.*.spec.volumeMode", "Filesystem"},
		{"spec.volumeClaimTemplates.*.apiVersion", "v1"},
		{"spec.volumeClaimTemplates.*.kind", "PersistentVolumeClaim"},
	},
	"Job": {{"spec.selector", nil}},
	"Service": {
		{"spec.internalTrafficPolicy", "Cluster"},
		{"spec.externalTrafficPolicy", "Cluster"},
		{"spec.allocateLoadBalancerNodePorts", true},
		{"spec.ipFamilies", nil},
		{"spec.ipFamilyPolicy", "SingleStack"},
	},
	"PersistentVolumeClaim": {
		{"spec.volumeName", nil},
		{"metadata.finalizers", []any{"kubernetes.io/pvc-protection"}},
	},
	"Namespace": {{"spec", nil}},
}

// withoutDefaults removes defaults and allocated values from an object of a cluster.
func withoutDefaults(o *unstructured.Unstructured, kinds *sim.Kinds) {
	withoutPresets(o.GroupVersionKind().GroupKind(), o.Object)
	want, err := kinds.Stored(o)
	if err != nil {
		return // The rules will be as wrong.
	}
	same := func() bool {
		got, err := kinds.Stored(o)
		return err == nil && reflect.DeepEqual(got, want)
	}
	for prune(o.Object, same) { // A default may depend on the absence of another field.
	}
}

// asked are fields of the spec of most resources, also if the value is the default.
var asked = []string{"replicas", "minReplicas"}

// prune removes every entry without which an object stays the same, outer ones first, and
// reports whether there was one.
func prune(in any, same func() bool) (removed bool) {
	switch in := in.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(in)) {
			value := in[key]
			delete(in, key)
			if !slices.Contains(asked, key) && same() {
				removed = true
				continue
			}
			in[key] = value
			removed = prune(value, same) || removed
		}
	case []any:
		for _, item := range in {
			removed = prune(item, same) || removed
		}
	}
	return removed
}

// withoutPresets removes what the cluster in memory does not add.
func withoutPresets(gk schema.GroupKind, o map[string]any) {
	for _, p := range kindPresets[gk.Kind] {
		p.removeFrom(o, "")
	}
	switch gk.Kind {
	case "Service":
		withoutAddresses(o)
	case "Job":
		withoutLabels(o, jobLabels)
	case "Namespace":
		withoutLabels(o, []string{"kubernetes.io/metadata.name"})
	}
	pod, has := podPath(gk)
	if !has {
		return
	}
	for _, p := range podPresets {
		p.removeFrom(o, pod)
	}
	for _, list := range containers {
		within := pod + list + ".*."
		each(o, strings.TrimSuffix(within, "."), withoutPullPolicy)
		for _, p := range containerPresets {
			p.removeFrom(o, within)
		}
		for _, probe := range []string{"livenessProbe.", "readinessProbe.", "startupProbe."} {
			for _, p := range probePresets {
				p.removeFrom(o, within+probe)
			}
		}
	}
}

func (p preset) removeFrom(o map[string]any, within string) {
	remove(o, within+p.pattern, func(v any) bool { return p.value == nil || reflect.DeepEqual(v, p.value) })
}

// jobLabels are those that the API server gives a Job and its Pods.
var jobLabels = []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
	"batch.kubernetes.io/job-name"}

// withoutLabels removes labels of an object and its Pods.
func withoutLabels(o map[string]any, names []string) {
	for _, at := range []string{"metadata", "spec.template.metadata"} {
		each(o, at, func(p place) {
			metadata, _ := p.value.(map[string]any)
			labels, _ := metadata["labels"].(map[string]any)
			for _, name := range names {
				delete(labels, name)
			}
			if len(labels) == 0 {
				delete(metadata, "labels")
			}
		})
	}
}

// withoutPullPolicy removes the policy that follows from the tag of the image.
func withoutPullPolicy(p place) {
	container, _ := p.value.(map[string]any)
	image := textAt(container, "image")
	usual := "IfNotPresent"
	if name := image[strings.LastIndexByte(image, '/')+1:]; !strings.ContainsAny(name, ":@") ||
		strings.HasSuffix(name, ":latest") {
		usual = "Always"
	}
	if container["imagePullPolicy"] == usual {
		delete(container, "imagePullPolicy")
	}
}

// withoutAddresses removes what the API server allocates for a Service.
func withoutAddresses(o map[string]any) {
	spec, _ := o["spec"].(map[string]any)
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
	}
	delete(spec, "clusterIPs")
	each(spec, "ports.*", func(p place) {
		port, _ := p.value.(map[string]any)
		if spec["type"] != "NodePort" {
			delete(port, "nodePort")
		}
	})
}
