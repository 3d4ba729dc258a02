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
		"of one field":                         {`self.spec.size in ["small", "large"]`, "self.spec.size", "spec: {size: huge}", "False InvalidSpec", "it is wrong"},
		"of two fields":                        {`self.spec.min <= self.spec.max`, "string(self.spec.min + self.spec.max)", "spec: {min: 2, max: 1}", "False InvalidSpec", "it is wrong"},
		"of two fields, of which it lacks one": {`self.spec.min <= self.spec.max`, `has(self.spec.a) ? "a" : "b"`, "spec: {min: 2}", "False RuleError", "Required"},
		"of two deep fields":                   {`self.spec.inner.min <= self.spec.inner.max`, `has(self.spec.a) ? "a" : "b"`, "spec: {inner: {min: 2}}", "False RuleError", "Required"},
		"of an optional field":                 {`self.spec.?size.orValue("") in ["small", "large"]`, `self.spec.?size.orValue("")`, "spec: {size: huge}", "False InvalidSpec", "it is wrong"},
		"of a deep field":                      {`self.spec.inner.size != "huge"`, "self.spec.inner.size", "spec: {inner: {size: huge}}", "False InvalidSpec", "it is wrong"},
		"of a field that it does not have":     {`self.spec.size in ["small", "large"]`, `has(self.spec.a) ? "a" : "b"`, "spec: {}", "False RuleError", "Required"},
		"of a field of its own":                {`self.size in ["small", "large"]`, "self.size", "{spec: {}, size: huge}", "False InvalidSpec", "it is wrong"},
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

// TestTheAPIServerAcceptsDerivedChecks puts the CRD of rules with a check into the cluster.
func TestTheAPIServerAcceptsDerivedChecks(t *testing.T) {
	for _, check := range []string{
		`{expression: self.spec.min > 0}`,
		`{expression: self.spec.min <= self.spec.max, message: "min\nis above max\n"}`,
		`{expression: self.spec.min <= self.spec.max, message: " "}`,
		`{expression: self.spec.min <= self.spec.max, message: "${string(self.spec.min)} is above max"}`,
		"\n    expression: |\n      self.spec.min > 0 && // at least one\n      self.spec.min < 9",
		`{expression: self.spec.may > 0}`,
		`{expression: "self.spec.?may.orValue(3) > 0"}`,
		`{expression: "!has(self.spec.may) || self.spec.may in [1, 2]"}`,
		`{expression: "self.spec.may != null"}`,
		`{expression: size(self.spec.names) < 9 && !("a" in self.spec.names)}`,
		`{expression: "self.spec.names == []"}`,
		`{expression: self.spec.at != ""}`,
		`{expression: "has(self.spec.at) && self.spec.?at.orValue('') != ''"}`,
		`{expression: has(self.spec.at)}`,
		`{expression: size(self.spec.values) < 9}`,
		`{expression: self.count < self.spec.max}`,
	} {
		t.Run(check, func(t *testing.T) {
			crd := derivedCRD(t, briefRule("one", `
  schema:
    spec: {min: integer, max: integer, may: integer | required=false, names: "[]string", values: "map[string]string", at: string | format="date-time" required=false}
    fields: {count: integer}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
  validate:
  - `+check+"\n"))
			if _, err := fooWorld(t).Cluster().Put(&unstructured.Unstructured{Object: crd}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTheAPIServerAcceptsChecksOfDefaults puts CRDs with defaults into the cluster. It checks these by themselves.
func TestTheAPIServerAcceptsChecksOfDefaults(t *testing.T) {
	for name, c := range map[string]struct{ spec, check, want string }{
		"two fields":                  {"min: integer | default=1, max: integer | default=9", "self.spec.min <= self.spec.max", "self.spec.min <= self.spec.max"},
		"a default that passes":       {"size: integer | default=1", "self.spec.size > 0", "spec.size: self > 0"},
		"an odd default":              {"size: integer | default=3", "self.spec.size % 2 + 1 == 2", "spec.size: self % 2 + 1 == 2"},
		"a default that fails":        {"size: integer | default=0", "self.spec.size > 0", "self.spec.size > 0"},
		"and another field":           {"size: integer | default=0, name: string | required=true", "self.spec.size > 0", "spec: self.size > 0"},
		"an inner object":             {"web: {min: integer | default=1, max: integer | default=9}", "self.spec.web.min <= self.spec.web.max", "self.spec.web.min <= self.spec.web.max"},
		"an inner one, another field": {"web: {min: integer | default=1, max: integer | default=9}, name: string | required=true", "self.spec.web.min <= self.spec.web.max", "spec: self.web.min <= self.web.max"},
		"an inner one that passes":    {"web: {min: integer | default=1}", "self.spec.web.min > 0", "spec.web.min: self > 0"},
		"an optional field":           {"size: integer | default=1, may: integer | required=false", "self.spec.?may.orValue(1) > 0", "spec: self.?may.orValue(1) > 0"},
		"a list":                      {"names: '[]string | default=[\"a\"]'", `size(self.spec.names) < 9 && "a" in self.spec.names`, `spec.names: size(self) < 9 && "a" in self`},
	} {
		t.Run(name, func(t *testing.T) {
			crd := derivedCRD(t, briefRule("one", `
  schema: {spec: {`+c.spec+`}}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
  validate:
  - expression: '`+c.check+"'\n"))
			if _, err := fooWorld(t).Cluster().Put(&unstructured.Unstructured{Object: crd}); err != nil {
				t.Error(err)
			}
			versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
			root, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
			if got := strings.Join(checksOf("", root), "; "); got != c.want {
				t.Errorf("the check is %s, want %s", got, c.want)
			}
		})
	}
}

// checksOf returns the checks of a schema and of the fields in it.
func checksOf(path string, s map[string]any) (all []string) {
	checks, _, _ := unstructured.NestedSlice(s, "x-kubernetes-validations")
	for _, c := range checks {
		all = append(all, strings.TrimPrefix(path+": "+c.(map[string]any)["rule"].(string), ": "))
	}
	fields, _, _ := unstructured.NestedMap(s, "properties")
	for name, field := range fields {
		all = append(all, checksOf(strings.TrimPrefix(path+"."+name, "."), field.(map[string]any))...)
	}
	return all
}

// derived returns rules, and Kubernetes' own kinds and that of the CRD of the rules.
func derived(t *testing.T, text string) (*rules.Program, *sim.Kinds) {
	t.Helper()
	crd, err := yaml.Marshal(derivedCRD(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return briefRules(t, text), kindsOf(t, string(crd))
}

// derivedCRD returns the CRD of rules.
func derivedCRD(t *testing.T, text string) map[string]any {
	t.Helper()
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + text)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	found, _, err := infer.Kinds(loaded.File, schema.Builtin())
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	crd, err := found[0].Object()
	if err != nil {
		t.Fatal(err)
	}
	return crd
}
