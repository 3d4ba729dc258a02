package world_test

import (
	"fmt"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim/world"
)

// fooRule is a rule for Foo with more lines and these children.
func fooRule(name, more string, children ...string) string {
	text := fmt.Sprintf("- name: %s\n  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}\n%s", name, more)
	if len(children) > 0 {
		text += "  children:\n"
	}
	return text + strings.Join(children, "")
}

// configMap is a child whose ID ends with the last letter of its name.
func configMap(name string) string {
	return fmt.Sprintf("  - id: c%c\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '%s'}}\n", name[len(name)-1], name)
}

// reload replaces the rules of a world.
func reload(t *testing.T, w *world.World, all ...string) {
	t.Helper()
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + strings.Join(all, "")
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Reload(t.Context(), program); err != nil {
		t.Fatal(err)
	}
}

// TestMovedChildren moves children between rules. Each child stays the same object, and
// is deleted only once it is certain that no rule renders it.
func TestMovedChildren(t *testing.T) {
	before := []string{fooRule("one", "", configMap("a"), configMap("b"))}
	rest := fooRule("one", "", configMap("a"))
	for _, test := range []struct {
		name  string
		after []string
		want  string // the ConfigMaps with their rules
	}{
		{"to no rule", []string{rest}, "a=one"},
		{"to another rule", []string{rest, fooRule("two", "", configMap("b"))}, "a=one b=two"},
		{"to a rule that is renamed", []string{fooRule("two", "", configMap("a"), configMap("b"))}, "a=two b=two"},
		{"to a rule that refuses the resource",
			[]string{rest, fooRule("two", "  validate:\n  - {expression: 'self.spec.replicas > 100', message: too few}\n", configMap("b"))}, "a=one b=one"},
		{"to a rule whose name for it fails", []string{rest, fooRule("two", "", configMap("${self.spec.none}b"))}, "a=one b=one"},
		{"to a rule whose name for it waits", []string{rest, fooRule("two", "", configMap("${self.status.none}b"))}, "a=one b=one"},
		{"while a rule fails that makes other kinds",
			[]string{rest, fooRule("two", "", strings.Replace(configMap("${self.spec.none}b"), "ConfigMap", "ServiceAccount", 1))}, "a=one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+strings.Join(before, ""))
			put(t, w, "../../examples/foo/foo.yaml")
			settle(t, w)
			known := map[string]bool{}
			for _, o := range w.Objects() {
				known[string(o.GetUID())] = true
			}
			reload(t, w, test.after...)
			var got []string
			for _, o := range w.Objects() {
				if o.GroupVersionKind().GroupKind() != configMapKind {
					continue
				}
				got = append(got, o.GetName()+"="+o.GetLabels()[rules.LabelRule])
				if !known[string(o.GetUID())] {
					t.Errorf("%s was created again", o.GetName())
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("there are %q, want %q", got, test.want)
			}
		})
	}
}

// TestShrinkingWhileAnotherRuleFails removes an element of a collection. Its own rule
// decides the deletion.
func TestShrinkingWhileAnotherRuleFails(t *testing.T) {
	each := func(list string) string {
		return fooRule("one", "", "  - id: c\n    forEach: [{name: name, in: \""+list+"\"}]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${name}'}}\n")
	}
	failing := fooRule("two", "", configMap("${self.spec.none}b"))
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+each("['a', 'b']")+failing)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	reload(t, w, each("['a']"), failing)
	var got []string
	for _, o := range w.Objects() {
		if o.GroupVersionKind().GroupKind() == configMapKind {
			got = append(got, o.GetName())
		}
	}
	if strings.Join(got, " ") != "a" {
		t.Errorf("there are %q, want a", got)
	}
}
