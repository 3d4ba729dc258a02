package world_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim/world"
)

// TestReloadOfOneRuleAmongMany changes one of many rules, each for a Foo of its own. Only
// the Foo of this rule is reconciled, although all others are some lines further down.
func TestReloadOfOneRuleAmongMany(t *testing.T) {
	const number, changed = 64, 17
	ruled := func(value string) string {
		var text strings.Builder
		if value == "new" {
			text.WriteString("# This comment\n# takes two lines.\n")
		}
		text.WriteString("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n")
		for i := range number {
			of := "old"
			if i == changed {
				of = value
			}
			fmt.Fprintf(&text, `- name: rule-%d
  for:
    apiVersion: samplecontroller.k8s.io/v1alpha1
    kind: Foo
    when: self.metadata.name == "foo-%[1]d"
  children:
  - id: settings
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings-%[1]d}, data: {value: %s}}
`, i, of)
		}
		return text.String()
	}
	var log reconciled
	w := loadWith(t, ruled("old"), world.Options{Log: slog.New(&log)})
	for i := range number {
		add(t, w, fmt.Sprintf(`{"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
			"metadata": {"name": "foo-%d", "namespace": "default"}, "spec": {"deploymentName": "web"}}`, i))
	}
	settle(t, w)
	before := len(w.Writes())
	log.objects = nil
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(ruled("new"))}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Reload(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, write := range w.Writes()[before:] {
		got = append(got, fmt.Sprintf("%s %s", write.Verb, write.Name))
	}
	if want := fmt.Sprintf("apply settings-%d", changed); strings.Join(got, ", ") != want {
		t.Errorf("the reload writes %q, want %q", got, want)
	}
	if got, want := slices.Compact(log.objects), []string{fmt.Sprintf("Foo/default/foo-%d", changed)}; !slices.Equal(got, want) {
		t.Errorf("reconciled %q, want %q", got, want)
	}
}

// TestReloadReconcilesWhatChanges changes rules in ways that concern some primaries. The
// state is then as after a start with the new rules: a restart writes nothing.
func TestReloadReconcilesWhatChanges(t *testing.T) {
	const (
		head  = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
		kind  = "apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo"
		small = "- name: small\n  for: {" + kind + ", when: self.spec.replicas < 3}\n"
		label = "- name: label\n  for: {" + kind + ", selector: {matchLabels: {size: large}}}\n"
		home  = "- name: home\n  for: {" + kind + ", namespaces: [default]}\n"
		count = "  validate: [{expression: self.spec.replicas < 9}]\n"
	)
	settings := func(id, value string) string {
		return "  children:\n  - id: settings\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"" + id + "-${self.metadata.name}\"}, data: {value: \"" + value + "\"}}\n"
	}
	lookup := func(name string) string {
		return "  lookups: [{id: found, apiVersion: v1, kind: Secret, name: " + name + "}]\n"
	}
	define := func(value string) string {
		return "define: {of(n int): 'string(n) + middle.b', middle: {a: 1, b: '${end}'}, end: \"" + value + "\", limit(n int): n, unused: '1'}\n"
	}
	const found = "${found.?type.orValue('none')}"
	for _, test := range []struct {
		name          string
		before, after string
		want          []string // reconciled Foos
	}{
		{"nothing", small + settings("a", "x") + home + settings("b", "x"), small + settings("a", "x") + home + settings("b", "x"), nil},
		{"style", small + settings("a", "x"), strings.ReplaceAll(small, "small\n", "\"small\" # as before\n") + settings("a", "x"), nil},
		{"when, wider", small + settings("a", "x") + home, strings.ReplaceAll(small, "3", "4") + settings("a", "x") + home, []string{"foo-1", "foo-2", "foo-3"}},
		{"when, narrower", small + settings("a", "x") + home, strings.ReplaceAll(small, "3", "2") + settings("a", "x") + home, []string{"foo-1", "foo-2"}},
		{"when, a field that no rule read", home + settings("b", "x"), strings.ReplaceAll(home, "}", ", when: self.spec.deploymentName == 'web'}") + settings("b", "x"), []string{"foo-1", "foo-2", "foo-3", "foo-4"}},
		{"selector", label + settings("a", "x") + home, strings.ReplaceAll(label, "large", "small") + settings("a", "x") + home, []string{"foo-1", "foo-2", "foo-3", "foo-4"}},
		{"a rule more", home + count, home + count + small + settings("a", "x"), []string{"foo-1", "foo-2"}},
		{"a rule more that reads another field", home, home + small + settings("a", "x"), []string{"foo-1", "foo-2", "foo-3", "foo-4"}},
		{"a rule less", home + small + settings("a", "x"), home, []string{"foo-1", "foo-2"}},
		{"order", home + settings("b", "x") + small + settings("a", "x"), small + settings("a", "x") + home + settings("b", "x"), []string{"foo-1", "foo-2", "foo-3", "foo-4"}},
		{"a lookup of another object", small + lookup("one") + settings("a", found) + home, small + lookup("two") + settings("a", found) + home, []string{"foo-1", "foo-2"}},
		{"status", small + "  status: {availableReplicas: 1}\n" + home, small + "  status: {availableReplicas: 2}\n" + home, []string{"foo-1", "foo-2"}},
		{"a definition that no rule uses", small + settings("a", "${end}") + define("'x'"), small + settings("a", "${end}") + strings.ReplaceAll(define("'x'"), "'1'", "'2'"), nil},
		{"the style of a definition", small + settings("a", "${end}") + define("'x'"), small + settings("a", "${end}") + strings.ReplaceAll(define("'x'"), "limit(n int): n", "'limit(n int)':  \"n\""), nil},
		{"a value", small + settings("a", "${end}") + home + define("'x'"), small + settings("a", "${end}") + home + define("'y'"), []string{"foo-1", "foo-2"}},
		{"a value in a let", small + "  let: {used: {at: \"${end}\"}}\n" + settings("a", "${used.at}") + home + define("'x'"), small + "  let: {used: {at: \"${end}\"}}\n" + settings("a", "${used.at}") + home + define("'y'"), []string{"foo-1", "foo-2"}},
		{"a value of a value of a function", small + settings("a", "${of(1)}") + home + define("'x'"), small + settings("a", "${of(1)}") + home + define("'y'"), []string{"foo-1", "foo-2"}},
		{"the parameter of a function", small + settings("a", "${string(limit(1))}") + home + define("'x'"), small + settings("a", "${string(limit(1))}") + home + strings.ReplaceAll(define("'x'"), "limit(n int)", "limit(n dyn)"), []string{"foo-1", "foo-2"}},
		{"a function in when", strings.ReplaceAll(small, "3", "limit(3)") + settings("a", "x") + home + define("'x'"), strings.ReplaceAll(small, "3", "limit(3)") + settings("a", "x") + home + strings.ReplaceAll(define("'x'"), "limit(n int): n", "limit(n int): n + 1"), []string{"foo-1", "foo-2", "foo-3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log reconciled
			w := loadWith(t, head+test.before, world.Options{Log: slog.New(&log)})
			for i := 1; i <= 4; i++ {
				add(t, w, fmt.Sprintf(`{"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
					"metadata": {"name": "foo-%d", "namespace": "default", "labels": {"size": %q}}, "spec": {"deploymentName": "web", "replicas": %[1]d}}`,
					i, []string{"small", "large"}[i/3]))
			}
			settle(t, w)
			log.objects = nil
			program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(head + test.after)}})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Reload(t.Context(), program); err != nil {
				t.Fatal(err)
			}
			slices.Sort(log.objects)
			var want []string
			for _, name := range test.want {
				want = append(want, "Foo/default/"+name)
			}
			if got := slices.Compact(log.objects); !slices.Equal(got, want) {
				t.Errorf("reconciled %q, want %q", got, want)
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

// reconciled is a log that keeps the objects of which a reconciliation ended.
type reconciled struct{ objects []string }

func (r *reconciled) Enabled(context.Context, slog.Level) bool { return true }
func (r *reconciled) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *reconciled) WithGroup(string) slog.Handler            { return r }

func (r *reconciled) Handle(_ context.Context, line slog.Record) error {
	if line.Message == "reconciled" {
		line.Attrs(func(a slog.Attr) bool {
			if a.Key == "object" {
				r.objects = append(r.objects, a.Value.String())
			}
			return a.Key != "object"
		})
	}
	return nil
}
