package plan

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/diff"
	"reconcel/engine"
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
)

var riskOrder = []Risk{DeletesData, Replaces, RestartsPods, StopsPods}

// keepsData are Kubernetes' own kinds that hold data, or whose deletion deletes such objects.
var keepsData = []schema.GroupKind{
	{Kind: "PersistentVolumeClaim"}, {Kind: "PersistentVolume"}, {Kind: "Secret"}, {Kind: "ConfigMap"}, {Kind: "Namespace"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
}

// restarts are the kinds whose Pods restart when their template changes.
var restarts = []schema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"}}

// stops are the kinds whose Pods are deleted with their objects.
var stops = append([]schema.GroupKind{
	{Kind: "Pod"}, {Kind: "ReplicationController"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "batch", Kind: "Job"}, {Group: "batch", Kind: "CronJob"},
}, restarts...)

// riskOf returns the risk of a change, or "".
func riskOf(c *diff.Change) Risk {
	gk := schema.FromAPIVersionAndKind(c.Object.APIVersion, c.Object.Kind).GroupKind()
	switch {
	case actionOf(c) == engine.Replaced:
		return Replaces
	case c.Action == engine.Configured && c.Part == "" && slices.Contains(restarts, gk) && restartsPods(c):
		return RestartsPods
	case actionOf(c) != engine.Deleted:
		return ""
	case slices.Contains(keepsData, gk), !kindschema.BuiltInGroup(gk.Group):
		return DeletesData
	case slices.Contains(stops, gk):
		return StopsPods
	}
	return ""
}

// restartsPods reports whether the Pod template changes, and the workload replaces its Pods.
func restartsPods(c *diff.Change) bool {
	at := func(object map[string]any, path ...string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
		return value
	}
	if at(c.After, "spec", "paused") == true || at(c.After, "spec", "updateStrategy", "type") == "OnDelete" {
		return false
	}
	return !reflect.DeepEqual(at(c.Before, "spec", "template"), at(c.After, "spec", "template"))
}
