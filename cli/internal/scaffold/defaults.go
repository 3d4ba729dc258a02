package scaffold

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A preset is a value that the API server gives a field.
type preset struct {
	pattern string
	value   any // nil: any value, which the server chooses
}

// podPresets are defaults of a Pod.
var podPresets = []preset{
	{"restartPolicy", "Always"},
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

// containerPresets are defaults of a container.
var containerPresets = []preset{
	{"terminationMessagePath", "/dev/termination-log"},
	{"terminationMessagePolicy", "File"},
	{"resources", map[string]any{}},
	{"ports.*.protocol", "TCP"},
	{"env.*.valueFrom.fieldRef.apiVersion", "v1"},
}

// probePresets are defaults of a probe.
var probePresets = []preset{
	{"timeoutSeconds", int64(1)},
	{"periodSeconds", int64(10)},
	{"successThreshold", int64(1)},
	{"failureThreshold", int64(3)},
	{"httpGet.scheme", "HTTP"},
}

var rollingUpdate = map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}

// kindPresets are defaults of kinds.
var kindPresets = map[string][]preset{
	"Deployment": {
		{"spec.revisionHistoryLimit", int64(10)},
		{"spec.progressDeadlineSeconds", int64(600)},
		{"spec.strategy", map[string]any{"type": "RollingUpdate", "rollingUpdate": rollingUpdate}},
	},
	"StatefulSet": {
		{"spec.revisionHistoryLimit", int64(10)},
		{"spec.podManagementPolicy", "OrderedReady"},
		{"spec.updateStrategy", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}}},
		{"spec.persistentVolumeClaimRetentionPolicy", map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"}},
		{"spec.volumeClaimTemplates.*.status", nil},
		{"spec.volumeClaimTemplates.*.spec.volumeMode", "Filesystem"},
		{"spec.volumeClaimTemplates.*.apiVersion", "v1"},
		{"spec.volumeClaimTemplates.*.kind", "PersistentVolumeClaim"},
	},
	"DaemonSet": {
		{"spec.revisionHistoryLimit", int64(10)},
		{"spec.updateStrategy", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)}}},
	},
	"Job": {
		{"spec.selector", nil},
		{"spec.backoffLimit", int64(6)},
		{"spec.completionMode", "NonIndexed"},
		{"spec.suspend", false},
		{"spec.parallelism", int64(1)},
		{"spec.completions", int64(1)},
		{"spec.manualSelector", false},
		{"spec.podReplacementPolicy", "TerminatingOrFailed"},
	},
	"CronJob": {
		{"spec.concurrencyPolicy", "Allow"},
		{"spec.suspend", false},
		{"spec.successfulJobsHistoryLimit", int64(3)},
		{"spec.failedJobsHistoryLimit", int64(1)},
	},
	"Service": {
		{"spec.type", "ClusterIP"},
		{"spec.sessionAffinity", "None"},
		{"spec.internalTrafficPolicy", "Cluster"},
		{"spec.externalTrafficPolicy", "Cluster"},
		{"spec.allocateLoadBalancerNodePorts", true},
		{"spec.ipFamilies", nil},
		{"spec.ipFamilyPolicy", "SingleStack"},
		{"spec.ports.*.protocol", "TCP"},
	},
	"PersistentVolumeClaim": {
		{"spec.volumeMode", "Filesystem"},
		{"spec.volumeName", nil},
		{"metadata.finalizers", []any{"kubernetes.io/pvc-protection"}},
	},
	"Secret":    {{"type", "Opaque"}},
	"Namespace": {{"spec", nil}},
}

// withoutDefaults removes defaults and allocated values from an object of a cluster.
func withoutDefaults(gk schema.GroupKind, o map[string]any) {
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
	for _, metadata := range podMetadata {
		remove(o, metadata, func(v any) bool { return size(v) == 0 })
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

// podMetadata is the metadata of templates, which the API server stores also if it is empty.
var podMetadata = []string{"spec.template.metadata", "spec.jobTemplate.metadata", "spec.jobTemplate.spec.template.metadata"}

// jobLabels are those that the API server gives a Job and its Pods.
var jobLabels = []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"}

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
	if name := image[strings.LastIndexByte(image, '/')+1:]; !strings.ContainsAny(name, ":@") || strings.HasSuffix(name, ":latest") {
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
		if port["targetPort"] == port["port"] {
			delete(port, "targetPort")
		}
		if spec["type"] != "NodePort" {
			delete(port, "nodePort")
		}
	})
}
