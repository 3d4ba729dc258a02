package world_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/source"
)

var configMapKind = runtimeschema.GroupKind{Kind: "ConfigMap"}

// ruled is a rules file with rules for Foo that create ConfigMaps. A rule is given as
// "name: value value", and creates name-0, name-1 and so on.
func ruled(rules ...string) string {
	var text strings.Builder
	text.WriteString("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n")
	for _, r := range rules {
		name, values, _ := strings.Cut(r, ": ")
		fmt.Fprintf(&text, "- name: %s\n  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}\n  children:\n", name)
		for i, value := range strings.Fields(values) {
			fmt.Fprintf(&text, "  - id: c%d\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d}, data: {value: %s}}\n", i, name, i, value)
		}
	}
	return text.String()
}

func TestReload(t *testing.T) {
	for _, test := range []struct {
		name   string
		before []string
		after  []string
		want   string
	}{
		{"a value", []string{"a: x"}, []string{"a: y"}, "a-0=y"},
		{"a child more", []string{"a: x"}, []string{"a: x y"}, "a-0=x a-1=y"},
		{"a child less", []string{"a: x y"}, []string{"a: x"}, "a-0=x"},
		{"a rule more", []string{"a: x"}, []string{"a: x", "b: y"}, "a-0=x b-0=y"},
		{"a rule less", []string{"a: x", "b: y"}, []string{"a: x"}, "a-0=x b-0=y"},
		{"other rules", []string{"a: x"}, []string{"b: y"}, "a-0=x b-0=y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, ruled(test.before...))
			put(t, w, "../../examples/foo/foo.yaml")
			settle(t, w)
			program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(ruled(test.after...))}})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Reload(t.Context(), program); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range w.Objects() {
				if o.GroupVersionKind().GroupKind() == configMapKind {
					value, _, _ := unstructured.NestedString(o.Object, "data", "value")
					got = append(got, o.GetName()+"="+value)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("there are %q, want %q", got, test.want)
			}
			before := len(w.Writes())
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, write := range w.Writes()[before:] {
				t.Errorf("a process that starts with the new rules writes %+v", write)
			}
		})
	}
}

// TestForgottenKind removes the rule for a kind and restores it. The status still has the
// error, and so no Event repeats it, as after a restart.
func TestForgottenKind(t *testing.T) {
	failing := fooRule("one", "", configMap("${self.spec.none}a"))
	other := strings.NewReplacer("samplecontroller.k8s.io/v1alpha1", "v1", "kind: Foo", "kind: Service").Replace(fooRule("two", "", configMap("b")))
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+failing)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	told := func() (n int) {
		for _, event := range w.Cluster().Events() {
			if event.Reason == "RuleError" {
				n++
			}
		}
		return n
	}
	if n := told(); n != 1 {
		t.Fatalf("there were %d Events of an error, want 1", n)
	}
	reload(t, w, other)
	reload(t, w, failing, other)
	if n := told(); n != 1 {
		t.Errorf("there were %d Events of an error, want 1", n)
	}
}
