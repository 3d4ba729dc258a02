package diff

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/output"
	"reconcel/engine/outcome"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
)

// TestWhatIsNotWritten has a child for each reason not to write.
func TestWhatIsNotWritten(t *testing.T) {
	const before = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {primary: yes}}}\n"
	child := func(id, template string) string {
		return "  - id: " + id + "\n    template: {apiVersion: v1, " + template + "}\n"
	}
	for _, test := range []struct {
		name, rule string
		labels     string
		want       []string // notes and writes
	}{
		{name: "a child that is created", rule: "  children:\n" + child("c", "kind: ConfigMap, metadata: {name: c}"),
			want: []string{"created ConfigMap/default/c"}},
		{name: "a report", rule: "  report: annotation\n", want: []string{"configured ConfigMap/default/p"}},
		{name: "a name that is held", rule: "  children:\n" + child("c", "kind: ConfigMap, metadata: {name: held}"),
			want: []string{`rule "r", child "c" (ConfigMap/default/held): rejected: ConfigMap/default/held already exists`}},
		{name: "an expression that fails", rule: "  children:\n" + child("c", "kind: ConfigMap, metadata: {name: c}, data: {a: '${self.data.none}'}"),
			want: []string{`rule "r", child "c" (ConfigMap/default/c): failed: rules.yaml:8:`}},
		{name: "a check that says no", rule: "  validate: [{expression: 'false', message: too big}]\n",
			want: []string{`rule "r": failed: too big`}},
		{name: "a child that waits", rule: "  children:\n" + child("c", "kind: ConfigMap, metadata: {name: c}") +
			child("d", "kind: ConfigMap, metadata: {name: d}, data: {a: '${c.data.a}'}"),
			want: []string{"created ConfigMap/default/c", `rule "r", child "d" (ConfigMap/default/d): skipped: waits for c.data.a`}},
		{name: "children that read each other", rule: "  children:\n" + child("c", "kind: ConfigMap, metadata: {name: c}, data: {a: '1'}") +
			child("d", "kind: Secret, metadata: {name: d}, stringData: {a: '${c.data.a}', uid: '${string(has(c.metadata.uid))}'}") +
			child("e", "kind: ConfigMap, metadata: {name: e}, data: {a: '${d.metadata.name}'}"),
			want: []string{"created ConfigMap/default/c", "created Secret/default/d", "created ConfigMap/default/e"}},
		{name: "an object that the API server rejects", rule: "  children:\n" + child("c", "kind: ConfigMap, metadata: {name: c}, data: text"),
			want: []string{`rule "r", child "c" (ConfigMap/default/c): rejected: `}},
		{name: "a namespace and what is in it", rule: "  allow: {clusterScoped: [{group: '', kind: Namespace}], namespaces: ['*']}\n  children:\n" + child("n", "kind: Namespace, metadata: {name: fresh}") +
			child("c", "kind: ConfigMap, metadata: {name: c, namespace: fresh}"),
			want: []string{"configured ConfigMap/default/p", "created Namespace/fresh", "created ConfigMap/fresh/c"}},
		{name: "a kind that does not exist", rule: "  children:\n  - id: c\n    template: {apiVersion: example.com/v1, kind: None, metadata: {name: c}}\n",
			want: []string{`rule "r": skipped: waits for kind None`}},
		{name: "a primary that is paused", rule: "  children:\n" + child("c", "kind: ConfigMap, metadata: {name: c}"), labels: "}, annotations: {reconcel.dev/paused: 'true'",
			want: []string{"is paused by its annotation reconcel.dev/paused"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(before + test.rule)}})
			if err != nil {
				t.Fatal(err)
			}
			p, writes := previewIn(t, program, "{apiVersion: v1, kind: ConfigMap, metadata: {name: p, namespace: default, labels: {primary: yes"+test.labels+"}}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: default}}")
			got := p.Notes()
			for _, c := range p.Changes {
				if c.Action.IsDifference() {
					got = append(got, string(c.Action)+" "+c.Object.String())
				}
			}
			for _, err := range p.Errs {
				got = append(got, "error: "+err.Error())
			}
			missing := func(text string) bool {
				for _, g := range got {
					if strings.Contains(g, text) {
						return false
					}
				}
				return true
			}
			for _, text := range test.want {
				if missing(text) {
					t.Errorf("%q is missing", text)
				}
			}
			if len(got) != len(test.want) || t.Failed() {
				t.Errorf("got:\n%s", strings.Join(got, "\n"))
			}
			if writes > 0 {
				t.Errorf("%d writes took effect", writes)
			}
		})
	}
}

// previewIn compares the first of these objects in an in-memory cluster, and counts the
// writes that took effect.
func previewIn(t *testing.T, program *rules.Program, objects ...string) (p *change.Primary, writes int) {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	memory, err := sim.New(sim.Options{Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range objects {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, ": yes", ": 'yes'")), &u.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := memory.Put(u); err != nil {
			t.Fatal(err)
		}
	}
	before := len(memory.Writes())
	c := &comparison{
		Options: Options{Source: change.Source{Rules: &rules.Loaded{Program: program}, Cluster: &cluster.Cluster{Kinds: world.KindsOf(kinds), Client: memory.Client("reviewer")}}, Selector: labels.Everything()},
		client:  dryrun.New(memory.Client("reviewer"), func() (*sim.Kinds, error) { return kinds, nil }),
	}
	primaries, err := c.prepare(t.Context(), schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range primaries {
		if other.Object().Name == "p" {
			p = other
		}
	}
	p.Reconcile(t.Context(), c.preview.Reconcile)
	return p, len(memory.Writes()) - before
}

func TestWhatWaitsIsNoDifference(t *testing.T) {
	rejected, skipped := change.Change{Action: outcome.Rejected}, change.Change{Action: outcome.Skipped}
	all, waiting := &Result{Changes: []change.Change{rejected, skipped}}, &Result{Changes: []change.Change{skipped}}
	if all.Any(outcome.Action.IsDifference) || !all.Any(outcome.Action.IsTrouble) || waiting.Any(outcome.Action.IsTrouble) {
		t.Error("what is rejected or waits counts for something else")
	}
}

// TestSharedObject compares an object of two resources. What both do to it is done once. If only one of them is
// compared, the object stays as it is.
func TestSharedObject(t *testing.T) {
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	compile := func(t *testing.T, children string) *rules.Loaded {
		t.Helper()
		loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n" +
			"  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {primary: 'yes'}}}\n" + children)}})
		if err := loaded.Errors.Err(); err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	const before = "  children:\n  - id: c\n    ifExists: share\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: common}, data: {a: one}}\n"
	w, err := world.New(world.Options{Program: compile(t, before).Program, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": name, "namespace": "default", "labels": map[string]any{"primary": "yes", "name": name}}}}
		if _, err := w.Cluster().Put(u); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, rule, selector, want string }{
		{"a change", strings.Replace(before, "one", "two", 1), "", "configured, shared (is configured for ConfigMap/default/a)"},
		{"a change for one", strings.Replace(before, "one", "two", 1), "name=a", "shared (other resources of the rule have it, too)"},
		{"a disagreement", strings.Replace(before, "one", "'${self.metadata.name}'", 1), "",
			"rejected (ConfigMap/default/common is shared with ConfigMap/default/b, but data.a differs; it stays as it is until all its owners render the same), " +
				"rejected (ConfigMap/default/common is shared with ConfigMap/default/a, but data.a differs; it stays as it is until all its owners render the same)"},
		{"no child", "", "", "deleted (no rule renders it), left (is deleted for ConfigMap/default/a)"},
		{"no child for one", "", "name=a", "left (other resources of the rule still have it)"},
		{"a drift", before, "", "configured"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "a drift" {
				configMaps := w.Cluster().Client("editor").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
				if _, err := configMaps.Patch(t.Context(), "common", types.MergePatchType, []byte(`{"data":{"a":"edited"}}`), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			selector, err := labels.Parse(test.selector)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Compare(t.Context(), Options{Selector: selector, Installation: "kube-system/reconcel", Source: change.Source{
				Rules: compile(t, test.rule), Schemas: schema.Builtin(), Progress: output.StartProgress(&strings.Builder{}),
				Cluster: &cluster.Cluster{Kinds: world.KindsOf(kinds), Client: w.Cluster().Client("reviewer")}}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range r.Changes {
				if c.Object.Name == "common" {
					got = append(got, strings.TrimSuffix(string(c.Action)+" ("+c.Reason+")", " ()"))
				}
			}
			if got := strings.Join(got, ", "); got != test.want || r.Broken {
				t.Errorf("got %s, want %s; %q", got, test.want, r.Notes)
			}
		})
	}
}
