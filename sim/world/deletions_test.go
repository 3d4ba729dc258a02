package world_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/sim/world"
)

// TestDeletionsAreTold deletes children for every cause. Each deletion has one line in the log, with its cause.
func TestDeletionsAreTold(t *testing.T) {
	few := func(t *testing.T, w *world.World) { merge(t, w, []byte(`{"spec":{"replicas":1}}`)) }
	end := func(t *testing.T, w *world.World) {
		err := w.Cluster().Client("someone").Resource(fooResource).Namespace("default").Delete(t.Context(), "example-foo", metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		settle(t, w)
	}
	change := func(all ...string) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) { reload(t, w, all...) }
	}
	then := func(all ...func(*testing.T, *world.World)) func(*testing.T, *world.World) {
		return func(t *testing.T, w *world.World) {
			for _, step := range all {
				step(t, w)
			}
		}
	}
	far := strings.Replace(configMap("b"), "metadata: {", "metadata: {namespace: far, ", 1)
	allowed := "  allow: {namespaces: [far]}\n"
	many := strings.Replace(configMap("b"), "    template", "    when: self.spec.replicas > 1\n    template", 1)
	for _, test := range []struct {
		name   string
		before []string
		steps  func(*testing.T, *world.World)
		want   string // the trigger
	}{
		{"a when turns false", []string{fooRule("one", "", configMap("a"), many)}, few, "no longer rendered"},
		{"a child leaves the rule", []string{fooRule("one", "", configMap("a"), configMap("b"))},
			change(fooRule("one", "", configMap("a"))), "no longer rendered"},
		{"the resource no longer matches", []string{strings.Replace(fooRule("one", "", configMap("b")), "kind: Foo}", "kind: Foo, when: self.spec.replicas > 1}", 1)},
			few, "resource no longer matches"},
		{"the resource no longer matches, but another rule", []string{strings.Replace(fooRule("one", "", configMap("b")),
			"kind: Foo}", "kind: Foo, when: self.spec.replicas > 1}", 1), fooRule("two", "", configMap("a"))}, few, "resource no longer matches"},
		{"a rule is removed, another stays", []string{goes("one", "", configMap("b")), fooRule("two", "", configMap("a"))},
			change(fooRule("two", "", configMap("a"))), "rule removed"},
		{"the only rule is removed", []string{goes("one", "", configMap("b"))}, change(forService), "rule removed"},
		{"the resource is deleted", []string{fooRule("one", allowed, far)}, end, "resource deleted"},
		{"the resource is deleted, in order", []string{fooRule("one", "  teardown: ordered\n", configMap("b"))}, end, "resource deleted"},
		{"the resource is deleted after the rule", []string{goes("one", allowed, far)},
			then(change(goes("two", allowed, configMap("${self.spec.none}a"))), end), "resource deleted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			w := loadWith(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+strings.Join(test.before, ""),
				world.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "far"}}}
			if _, err := w.Cluster().Put(namespace); err != nil {
				t.Fatal(err)
			}
			put(t, w, "../../examples/foo/foo.yaml")
			merge(t, w, []byte(`{"spec":{"replicas":2}}`))
			test.steps(t, w)
			var deleted, told []string
			for _, write := range w.Writes() {
				if write.By == world.Controller && write.Verb == "delete" && write.Changed && write.Kind.Kind == "ConfigMap" {
					deleted = append(deleted, fmt.Sprintf("child=ConfigMap/%s/%s rule=one trigger=%q", write.Namespace, write.Name, test.want))
				}
			}
			for line := range strings.Lines(log.String()) {
				if _, rest, found := strings.Cut(line, " child="); found && strings.Contains(line, "msg=deleted ") {
					told = append(told, "child="+strings.TrimSpace(rest))
				}
			}
			if len(deleted) == 0 {
				t.Fatalf("nothing was deleted; the log says\n%s", log.String())
			}
			if !slices.Equal(told, deleted) {
				t.Errorf("the log tells\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(deleted, "\n"))
			}
		})
	}
}
