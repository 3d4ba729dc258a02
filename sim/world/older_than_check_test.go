package world_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/infer"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
)

// TestAResourceOlderThanACheck stores a Thing, adds a check to the rules that the Thing does not pass, and puts the CRD of
// these rules into effect. The Thing gets to know what is wrong with it, and it can be deleted.
func TestAResourceOlderThanACheck(t *testing.T) {
	thing := runtimeschema.GroupKind{Group: "example.com", Kind: "Thing"}
	for name, c := range map[string]struct{ check, reads, object, ready, rejected string }{
		"of one field":                     {`self.spec.size in ["small", "large"]`, "self.spec.size", "spec: {size: huge}", "False InvalidSpec", "it is wrong"},
		"of two fields":                    {`self.spec.min <= self.spec.max`, "string(self.spec.min + self.spec.max)", "spec: {min: 2, max: 1}", "False InvalidSpec", "it is wrong"},
		"of an optional field":             {`self.spec.?size.orValue("") in ["small", "large"]`, `self.spec.?size.orValue("")`, "spec: {size: huge}", "False InvalidSpec", "it is wrong"},
		"of a deep field":                  {`self.spec.inner.size != "huge"`, "self.spec.inner.size", "spec: {inner: {size: huge}}", "False InvalidSpec", "it is wrong"},
		"of a field that it does not have": {`self.spec.size in ["small", "large"]`, `has(self.spec.a) ? "a" : "b"`, "spec: {}", "False RuleError", "Required"},
		"of a field of its own":            {`self.size in ["small", "large"]`, "self.size", "{spec: {}, size: huge}", "False InvalidSpec", "it is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			text := briefRule("one", `
  schema: {spec: {min: integer, max: integer}}
  allow: {namespaces: [kube-public]}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.namespace}", namespace: kube-public}, data: {a: '${`+c.reads+`}'}}
`)
			program, kinds := derived(t, text)
			w, err := world.New(world.Options{Program: program, Kinds: kinds})
			if err != nil {
				t.Fatal(err)
			}
			object := map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "one", "namespace": "default"}}
			if err := yaml.Unmarshal([]byte(c.object), &object); err != nil {
				t.Fatal(err)
			}
			cluster := w.Cluster()
			if _, err := cluster.Put(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}); err != nil {
				t.Fatal(err)
			}
			settle(t, w)
			if o := cluster.Find(thing, "default", "one"); len(o.GetFinalizers()) == 0 || condition(o, "Ready") != "True Reconciled" {
				t.Fatalf("at first: %v %s", o.GetFinalizers(), condition(o, "Ready"))
			}
			program, kinds = derived(t, text+"  validate:\n  - {expression: '"+c.check+"', message: it is wrong}\n")
			cluster.Serve(kinds)
			if err := w.Reload(t.Context(), program); err != nil {
				t.Fatal(err)
			}
			if got := condition(cluster.Find(thing, "default", "one"), "Ready"); got != c.ready {
				t.Errorf("Ready is %q, want %q", got, c.ready)
			}
			object["metadata"] = map[string]any{"name": "two", "namespace": "default"}
			if _, err := cluster.Put(&unstructured.Unstructured{Object: object}); err == nil || !strings.Contains(err.Error(), c.rejected) {
				t.Errorf("a new Thing like it is answered %v, want %s", err, c.rejected)
			}
			things := cluster.Client("someone").Resource(thing.WithVersion("v1").GroupVersion().WithResource("things"))
			if err := things.Namespace("default").Delete(t.Context(), "one", deleteOptions); err != nil {
				t.Fatal(err)
			}
			settle(t, w)
			if o := cluster.Find(thing, "default", "one"); o != nil {
				t.Errorf("the deleted Thing stays, with %v", o.GetFinalizers())
			}
		})
	}
}

// derived returns rules, and Kubernetes' own kinds and those of the CRDs of the rules.
func derived(t *testing.T, text string) (*rules.Program, *sim.Kinds) {
	t.Helper()
	program := briefRules(t, text)
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + text)}})
	found, _, err := infer.Kinds(loaded.File, schema.Builtin())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	crd, err := found[0].YAML()
	if err != nil {
		t.Fatal(err)
	}
	return program, kindsOf(t, string(crd))
}
