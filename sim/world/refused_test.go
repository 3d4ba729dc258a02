package world_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
)

// briefs are Things whose schema limits most status fields to three characters.
const briefs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {value: {type: string}}}
          status:
            type: object
            properties:
              phase: {type: string}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string}
                    observedGeneration: {type: integer}
`

// manyBriefs is the number of status fields with that limit.
const manyBriefs = 12

// briefWorld is a world with one Thing.
type briefWorld struct {
	*testing.T
	*world.World
	things dynamic.ResourceInterface // with another field manager
}

func newBriefWorld(t *testing.T, crd, rulesText string) *briefWorld {
	t.Helper()
	for i := range manyBriefs {
		crd += fmt.Sprintf("              f%d: {type: string, maxLength: 3}\n", i)
	}
	w, err := world.New(world.Options{Program: briefRules(t, rulesText), Kinds: kindsOf(t, crd)})
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "one", "namespace": "default"}, "spec": map[string]any{"value": "ab"}}}
	if _, err := w.Cluster().Put(u); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	resource := runtimeschema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	return &briefWorld{t, w, w.Cluster().Client("other").Resource(resource).Namespace("default")}
}

// kindsOf are Kubernetes' own kinds and that of a CRD.
func kindsOf(t *testing.T, crd string) *sim.Kinds {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(crd), &object); err != nil {
		t.Fatal(err)
	}
	set, err := schema.New(schema.Sources{CRDs: []map[string]any{object}})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func briefRules(t *testing.T, text string) *rules.Program {
	t.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + text)}})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// becomes sets the Thing's value and settles.
func (w *briefWorld) becomes(value string) {
	w.Helper()
	w.set(value)
	settle(w.T, w.World)
}

func (w *briefWorld) set(value string) {
	w.Helper()
	if _, err := w.things.Patch(w.Context(), "one", types.MergePatchType, []byte(`{"spec":{"value":"`+value+`"}}`), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

// says checks a status field, and the message of Ready, which is "" if the Thing is
// ready.
func (w *briefWorld) says(field, want, trouble string) {
	w.Helper()
	live := w.Cluster().Find(runtimeschema.GroupKind{Group: "example.com", Kind: "Thing"}, "default", "one").Object
	if got, _, _ := unstructured.NestedString(live, "status", field); got != want {
		w.Errorf("%s is %q, want %q", field, got, want)
	}
	list, _, _ := unstructured.NestedSlice(live, "status", "conditions")
	ready := ""
	for _, c := range list {
		if entry := c.(map[string]any); entry["type"] == "Ready" {
			ready = fmt.Sprint(entry["status"], ": ", entry["message"])
		}
	}
	if want := map[bool]string{true: "True", false: "False"}[trouble == ""]; !strings.HasPrefix(ready, want) || !strings.Contains(ready, trouble) {
		w.Errorf("Ready is %q, want %s: …%s…", ready, want, trouble)
	}
}

func briefRule(name, rest string) string {
	return "- name: " + name + "\n  for: {apiVersion: example.com/v1, kind: Thing}\n" + rest
}

// TestRejectedStatusIsNotRepeated has the API server list many fields, each time in another
// order.
func TestRejectedStatusIsNotRepeated(t *testing.T) {
	status := "  status:\n"
	for i := range manyBriefs {
		status += fmt.Sprintf("    f%d: ${self.spec.value}\n", i)
	}
	for name, crd := range map[string]string{
		"subresource":    briefs,
		"no subresource": strings.Replace(briefs, "    subresources: {status: {}}\n", "", 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newBriefWorld(t, crd, briefRule("x", status))
			before, told := len(w.Writes()), len(w.Cluster().Events())
			w.becomes("toolong")
			w.says("f0", "ab", "Too long")
			if err := w.Advance(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			changed := 0
			for _, write := range w.Writes()[before:] {
				if write.Changed {
					changed++
				}
			}
			if events := len(w.Cluster().Events()) - told; changed != 1 || events != 1 {
				t.Errorf("%d changes and %d Events in an hour, want 1 of each", changed, events)
			}
			w.becomes("cd")
			w.says("f0", "cd", "")
		})
	}
}

// TestRejectedStatusConcernsOneRule has two rules write a status, one of them a value that is
// too long.
func TestRejectedStatusConcernsOneRule(t *testing.T) {
	w := newBriefWorld(t, briefs, briefRule("x", "  status: {f0: \"${self.spec.value}\"}\n")+briefRule("y", "  status: {phase: \"${self.spec.value}\"}\n"))
	w.becomes("toolong")
	w.says("f0", "ab", "Too long")
	w.says("phase", "toolong", "Too long")
	w.becomes("cd")
	w.says("f0", "cd", "")
	w.says("phase", "cd", "")
}

// TestRejectedStatusBesideOtherErrors has another error at the same time.
func TestRejectedStatusBesideOtherErrors(t *testing.T) {
	w := newBriefWorld(t, briefs, briefRule("x", `  status: {f0: "${self.spec.value}"}
`)+briefRule("y", `  validate:
  - {expression: self.spec.value != "toolong", message: choose another}
`))
	w.becomes("toolong")
	w.says("f0", "ab", "choose another")
	w.says("f0", "ab", "Too long")
}

// TestRejectedStatusLeavesOthersAlone has another field manager write the fields of a rule
// that does not select the object.
func TestRejectedStatusLeavesOthersAlone(t *testing.T) {
	w := newBriefWorld(t, briefs, briefRule("x", "  status: {f0: \"${self.spec.value}\"}\n")+`- name: y
  for: {apiVersion: example.com/v1, kind: Thing, when: 'self.spec.value == "never"'}
  status: {phase: "${self.spec.value}"}
  conditions:
  - {type: Theirs, when: "true", reason: Y, message: y}
`)
	force := true
	theirs := func(status string) {
		t.Helper()
		body := `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"one"}` + status + `}`
		if _, err := w.things.Patch(t.Context(), "one", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "other", Force: &force}, "status"); err != nil {
			t.Fatal(err)
		}
		settle(t, w.World)
	}
	theirs(`,"status":{"phase":"A","conditions":[{"type":"Theirs","status":"False","message":"Too long"}]}`)
	w.becomes("toolong")
	w.says("phase", "A", "Too long")
	before := len(w.Writes())
	theirs(`,"status":{"phase":"B"}`)
	w.says("phase", "B", "Too long")
	theirs("")
	w.says("phase", "", "Too long")
	if after := w.Writes()[before:]; len(after) > 0 {
		t.Errorf("written after others: %v", after)
	}
}

// TestRejectedStatusStaysUnchanged has a status rejected before the watch delivers the
// previous one.
func TestRejectedStatusStaysUnchanged(t *testing.T) {
	w := newBriefWorld(t, briefs, briefRule("x", "  status: {f0: \"${self.spec.value}\"}\n"))
	w.set("cd")
	if err := w.ServeSeen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.says("f0", "cd", "")
	if err := w.FollowUnseen(t.Context(), briefRules(t, briefRule("x", "  status: {f0: toolong}\n"))); err != nil {
		t.Fatal(err)
	}
	w.says("f0", "cd", "Too long")
	settle(t, w.World)
	w.says("f0", "cd", "Too long")
}
