package managedfields

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

const switchedObject = `{"metadata":{"name":"web","resourceVersion":"7","labels":{"a.b/c":"x"}},
"spec":{
 "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}},
 "volumes":[{"name":"other","emptyDir":{}},{"name":"v","configMap":{"name":"some"}}],
 "containers":[{"name":"c","env":[{"name":"A","value":"2"}],
  "ports":[{"containerPort":80,"protocol":"TCP","hostPort":81}],
  "probe":{"httpGet":{"port":81},"periodSeconds":10}}],
 "plain":[{"name":"p","extra":1}],
 "defaulted":[{"name":"d","extra":1}]}}`

const switchedEntries = `[
{"f:metadata":{"f:labels":{"f:a.b/c":{}}},"f:spec":{"f:strategy":{"f:type":{}},"f:plain":{},
 "f:volumes":{"k:{\"name\":\"v\"}":{".":{},"f:name":{}}},
 "f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{}}},
  "f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}},
{"f:spec":{"f:volumes":{"k:{\"name\":\"v\"}":{"f:configMap":{"f:name":{}}},"k:{\"name\":\"other\"}":{".":{}}}}}]`

const switchedDesired = `{"metadata":{"name":"web"},"spec":{"strategy":{"type":"Recreate"},
 "volumes":[{"name":"v","emptyDir":{}}],
 "containers":[{"name":"c","env":[{"name":"A","valueFrom":{}}],"ports":[{"containerPort":80}],"probe":{"tcpSocket":{"port":80}}}],
 "plain":[{"name":"p"}],"defaulted":[{"name":"d"}]}}`

func TestFieldsThatAreInTheWay(t *testing.T) {
	var owners []Set
	for _, tree := range decodeJSON(t, switchedEntries).([]any) {
		owners = append(owners, manager{fieldsV1: tree}.entry().Set())
	}
	rejected := Repair{
		Live:    &unstructured.Unstructured{Object: decodeJSON(t, switchedObject).(map[string]any)},
		Desired: decodeJSON(t, switchedDesired).(map[string]any), AcceptedBefore: true,
	}
	const volume, container = `k:{"name":"v"}`, `k:{"name":"c"}`
	for _, c := range []struct {
		name, field string
		want        [][]string
	}{
		{"a field of a map", "spec.strategy.rollingUpdate", [][]string{{"f:spec", "f:strategy", "f:rollingUpdate"}}},
		{"a field of a keyed element", "spec.volumes[1].configMap", [][]string{{"f:spec", "f:volumes", volume, "f:configMap"}}},
		{"an element at another place than named", "spec.volumes[0].configMap", [][]string{{"f:spec", "f:volumes", volume, "f:configMap"}}},
		{"a place that is not there", "spec.volumes[9].configMap", [][]string{{"f:spec", "f:volumes", volume, "f:configMap"}}},
		{"an element with several keys", "spec.containers[0].ports[0].hostPort", [][]string{{"f:spec", "f:containers", container, "f:ports", `k:{"containerPort":80,"protocol":"TCP"}`, "f:hostPort"}}},
		{"a key in brackets", "metadata.labels[a.b/c]", [][]string{{"f:metadata", "f:labels", "f:a.b/c"}}},
		{"a value that stands in for ours", "spec.containers[0].env[0].valueFrom", [][]string{{"f:spec", "f:containers", container, "f:env", `k:{"name":"A"}`, "f:value"}}},
		{"an object that stands in for ours", "spec.containers[0].probe.tcpSocket", [][]string{{"f:spec", "f:containers", container, "f:probe", "f:httpGet"}}},
		{"a list without an owner", "spec.defaulted[0].extra", [][]string{{"f:spec", "f:defaulted", `k:{"name":"d"}`, "f:extra"}}},
		{"a list that is owned as a whole", "spec.plain[0].extra", nil},
		{"a field that is ours", "spec.strategy.type", nil},
		{"an element as a whole", "spec.volumes[0]", nil},
		{"an element with a value of ours", "spec.volumes[1].medium", [][]string{{"f:spec", "f:volumes", `k:{"name":"other"}`}}},
		{"an element that is not ours", "spec.volumes[0].emptyDir", [][]string{{"f:spec", "f:volumes", volume, "f:configMap"}}},
		{"nothing", "", nil},
		{"what is not there", "spec.none.at[3].all", nil},
		{"no name of a field", "spec[", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, serialized(t, rejected.obstacles(c.field, owners, owners[0]))); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a rendering that was never accepted takes nothing beside it", func(t *testing.T) {
		rejected.AcceptedBefore = false
		if found := rejected.obstacles("spec.containers[0].probe.tcpSocket", owners, owners[0]); found != nil {
			t.Errorf("it takes %v", found)
		}
	})
}

// serialized returns paths as they stand in a fieldsV1.
func serialized(t *testing.T, paths []fieldpath.Path) (all [][]string) {
	t.Helper()
	for _, path := range paths {
		var elements []string
		for _, e := range path {
			text, err := fieldpath.SerializePathElement(e)
			if err != nil {
				t.Fatal(err)
			}
			elements = append(elements, text)
		}
		all = append(all, elements)
	}
	return all
}

func TestRepairMovesFields(t *testing.T) {
	object := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: decodeJSON(t, switchedObject).(map[string]any)}
		entries := decodeJSON(t, switchedEntries).([]any)
		u.Object["metadata"].(map[string]any)["managedFields"] = []any{
			map[string]any{"manager": "reconcel", "operation": "Apply", "fieldsV1": entries[0]},
			map[string]any{"manager": "foreign", "operation": "Update", "fieldsV1": entries[1]},
			map[string]any{"manager": "status", "operation": "Update", "subresource": "status", "fieldsV1": map[string]any{"f:status": map[string]any{}}},
		}
		return u
	}
	desired := decodeJSON(t, switchedDesired).(map[string]any)
	patch, err := Repair{Live: object(), Desired: desired, Manager: Rendering, Causes: []string{"spec.volumes[1].configMap", "spec.strategy.rollingUpdate"}, AcceptedBefore: true}.Patch()
	if err != nil || patch == nil {
		t.Fatalf("patch %s, error %v", patch, err)
	}
	var ops []map[string]any
	if err := json.Unmarshal(patch, &ops); err != nil {
		t.Fatal(err)
	}
	entries := ops[1]["value"].([]any)
	own, foreign := parseManager(entries[0]).entry().Set(), parseManager(entries[1]).entry().Set()
	item := func(name string) *value.FieldList { return fieldpath.KeyByFields("name", name) }
	moved := fieldpath.MakePathOrDie("spec", "volumes", item("v"), "configMap")
	if !own.hasPath(moved) || !own.Has("spec", "strategy", "rollingUpdate") || foreign.hasPath(moved) ||
		!foreign.hasPath(fieldpath.MakePathOrDie("spec", "volumes", item("other"))) || len(entries) != 3 {
		t.Errorf("the patch is %s", patch)
	}
	if ops[0]["op"] != "test" || ops[0]["value"] != "7" {
		t.Errorf("the patch does not hold for one state only: %s", patch)
	}

	t.Run("what is taken already is not taken again", func(t *testing.T) {
		u := object()
		u.Object["metadata"].(map[string]any)["managedFields"] = entries
		if again, err := (Repair{Live: u, Desired: desired, Manager: Rendering, Causes: []string{"spec.volumes[1].configMap", "spec.strategy.rollingUpdate"}, AcceptedBefore: true}).Patch(); again != nil || err != nil {
			t.Errorf("patch %s, error %v", again, err)
		}
	})
	t.Run("nothing is taken in an object of others", func(t *testing.T) {
		patch, err := Repair{Live: object(), Desired: desired, Manager: Rendering, Causes: []string{"spec.volumes[1].configMap", "spec.strategy.rollingUpdate"}, AcceptedBefore: true}.RemoveLeftovers()
		if patch != nil || err != nil {
			t.Errorf("patch %s, error %v", patch, err)
		}
	})
	t.Run("without an entry of ours there is nothing to add to", func(t *testing.T) {
		u := object()
		u.SetManagedFields(nil)
		if patch, err := (Repair{Live: u, Desired: desired, Manager: Rendering, Causes: []string{"spec.strategy.rollingUpdate"}, AcceptedBefore: true}).Patch(); patch != nil || err != nil {
			t.Errorf("patch %s, error %v", patch, err)
		}
	})
}
