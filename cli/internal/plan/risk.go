package plan

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/change"
	"reconcel/engine/outcome"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// A Risk is why a change is shown as a whole.
type Risk string

// The risks, the worst first.
const (
	DeletesData  Risk = "deletes data"
	Replaces     Risk = "replaces"
	RestartsPods Risk = "restarts Pods"
	StopsPods    Risk = "stops Pods"
	CutsTraffic  Risk = "may cut off traffic"
	NoLongerKept Risk = "is no longer kept when its resource is deleted"
)

var riskOrder = []Risk{DeletesData, Replaces, NoLongerKept, CutsTraffic, RestartsPods, StopsPods}

// keepsData are Kubernetes' own kinds that hold data, or whose deletion deletes such objects.
var keepsData = []schema.GroupKind{
	{Kind: "PersistentVolumeClaim"}, {Kind: "PersistentVolume"}, {Kind: "Secret"}, {Kind: "ConfigMap"},
	{Kind: "Namespace"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
}

// restarts are the kinds whose Pods restart when their template changes.
var restarts = []schema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"},
	{Group: "apps", Kind: "DaemonSet"}}

// stops are the kinds whose Pods are deleted with their objects.
var stops = append([]schema.GroupKind{
	{Kind: "Pod"}, {Kind: "ReplicationController"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "batch", Kind: "Job"},
	{Group: "batch", Kind: "CronJob"},
}, restarts...)

// routes are Kubernetes' own kinds that lead clients to Pods, by name.
var routes = []schema.GroupKind{{Kind: "Service"}, {Kind: "Endpoints"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}, {Group: "networking.k8s.io", Kind: "Ingress"}}

// riskOf returns the risk of a change, or "".
func riskOf(c *change.Change) Risk {
	gk := schema.FromAPIVersionAndKind(c.Object.APIVersion, c.Object.Kind).GroupKind()
	switch {
	case actionOf(c) == outcome.Replaced:
		return Replaces
	case c.Action == outcome.Configured && isOrphan(c.Before) && !isOrphan(c.After):
		return NoLongerKept
	case c.Action == outcome.Configured && c.Part == "" && slices.Contains(restarts, gk) && restartsPods(c):
		return RestartsPods
	case c.Action == outcome.Configured && c.Part == "" && slices.Contains(routes, gk) &&
		losesRoute(spec(c.Before), spec(c.After)):
		return CutsTraffic
	case actionOf(c) != outcome.Deleted:
		return ""
	case slices.Contains(keepsData, gk), !kindschema.BuiltInGroup(gk.Group):
		return DeletesData
	case slices.Contains(stops, gk):
		return StopsPods
	case slices.Contains(routes, gk):
		return CutsTraffic
	}
	return ""
}

// isOrphan reports whether an object stays when its primary is deleted.
func isOrphan(object map[string]any) bool {
	mark, _, _ := unstructured.NestedString(object, "metadata", "annotations", rules.AnnotationOrphan)
	return mark == "true"
}

// losesRoute reports whether a change of a Service or an Ingress is more than an addition: it selects other Pods, or
// a port, a host or a path is gone or leads elsewhere.
func losesRoute(before, after map[string]any) bool {
	for key, old := range before {
		switch now := after[key]; key {
		case "ports", "rules", "tls":
			if !containsAll(now, old) {
				return true
			}
		default:
			if !reflect.DeepEqual(old, now) {
				return true
			}
		}
	}
	_, selected := before["selector"]
	_, selects := after["selector"]
	return selects && !selected
}

// containsAll reports whether a list has all elements of another one.
func containsAll(list, of any) bool {
	have, _ := list.([]any)
	want, _ := of.([]any)
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h any) bool { return reflect.DeepEqual(h, w) }) {
			return false
		}
	}
	return true
}

func spec(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	return spec
}

// restartsPods reports whether the Pod template changes, and the workload replaces its Pods.
func restartsPods(c *change.Change) bool {
	at := func(object map[string]any, path ...string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
		return value
	}
	if at(c.After, "spec", "paused") == true || at(c.After, "spec", "updateStrategy", "type") == "OnDelete" {
		return false
	}
	return !reflect.DeepEqual(at(c.Before, "spec", "template"), at(c.After, "spec", "template"))
}
