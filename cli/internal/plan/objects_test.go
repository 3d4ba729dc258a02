package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ofAccounts is a Rules object with a rule for ServiceAccounts, whose child is a ConfigMap.
func ofAccounts(object, value string) string {
	return fmt.Sprintf(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
metadata: {name: %[1]s}
rules:
- name: %[1]s
  for: {apiVersion: v1, kind: ServiceAccount}
  onRuleRemoval: delete
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-%[1]s"}, data: {is: %[2]s}}
`, object, value)
}

// TestPlanOfSingleObjects plans the file of one object in an installation with three. Those of the others stay, unless
// the file is all that there is.
func TestPlanOfSingleObjects(t *testing.T) {
	running := map[string]string{"Rules home/one": ofAccounts("one", "a"), "Rules home/two": ofAccounts("two", "a"),
		"Rules home/three": ofAccounts("three", "a")}
	f := newFleet(t, loadTexts(t, running).Program, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: x, namespace: team}}")
	const lacking = "not in -f, so their rules count as removed: Rules/three, Rules/two"
	for name, test := range map[string]struct {
		texts   map[string]string
		folders bool
		changes []string
		removed []string
		note    string
	}{
		"one object": {texts: map[string]string{"one.yaml": ofAccounts("one", "b")}, changes: []string{"configured ConfigMap 1"},
			note: "not in -f, so their rules stay as they are: Rules/three, Rules/two"},
		"a new object": {texts: map[string]string{"four.yaml": ofAccounts("four", "b")}, changes: []string{"created ConfigMap 1"},
			note: "not in -f, so their rules stay as they are: Rules/one, Rules/three, Rules/two"},
		"a folder with one object": {texts: map[string]string{"rules/one.yaml": ofAccounts("one", "b")}, folders: true,
			changes: []string{"configured ConfigMap 1", "deleted ConfigMap 1", "deleted ConfigMap 1"}, removed: []string{"three", "two"}, note: lacking},
		"a file that is not an object": {texts: map[string]string{"one.yaml": strings.Replace(ofAccounts("one", "b"), "metadata: {name: one}\n", "", 1)},
			changes: []string{"configured ConfigMap 1", "deleted ConfigMap 1", "deleted ConfigMap 1"}, removed: []string{"three", "two"}, note: lacking},
	} {
		t.Run(name, func(t *testing.T) {
			f.T = t
			o := f.options(loadTexts(t, test.texts))
			o.Folders = test.folders
			r := f.plan(o)
			var changes []string
			for _, g := range slices.Concat(r.Risks, r.Changes) {
				changes = append(changes, fmt.Sprintf("%s %s %d", g.Action, g.Kind, g.Count))
			}
			slices.Sort(changes)
			if diff := cmp.Diff(test.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.removed, r.Rules.Removed); diff != "" {
				t.Errorf("removed rules (-want +got):\n%s", diff)
			}
			if !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, test.note) }) {
				t.Errorf("no note has %q: %q", test.note, r.Notes)
			}
			if test.removed == nil && r.Permissions != nil {
				t.Errorf("permissions change: %+v", r.Permissions)
			}
		})
	}
	for name, test := range map[string]struct {
		before, texts map[string]string
		changes       []string
	}{
		"an earlier version of one object": {before: map[string]string{"two.yaml": ofAccounts("two", "a")},
			texts: map[string]string{"two.yaml": ofAccounts("two", "b")}, changes: []string{"configured ConfigMap 1"}},
		"a rule that it had": {before: map[string]string{"two.yaml": ofAccounts("two", "a")},
			texts: map[string]string{"two.yaml": "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nmetadata: {name: two}\nrules: []\n"}, changes: []string{"deleted ConfigMap 1"}},
		"the object had another name": {before: map[string]string{"two.yaml": ofAccounts("two", "a")},
			texts: map[string]string{"four.yaml": strings.Replace(ofAccounts("two", "a"), "metadata: {name: two}", "metadata: {name: four}", 1)}},
	} {
		t.Run("against "+name, func(t *testing.T) {
			f.T = t
			o := f.options(loadTexts(t, test.texts))
			o.Against, o.AgainstName = loadTexts(t, test.before), "before"
			r := f.plan(o)
			var changes []string
			for _, g := range slices.Concat(r.Risks, r.Changes) {
				changes = append(changes, fmt.Sprintf("%s %s %d", g.Action, g.Kind, g.Count))
			}
			if diff := cmp.Diff(test.changes, changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "other rules than those of before") {
				t.Errorf("notes: %s", notes)
			}
		})
	}
	f.T = t
	moved := f.options(loadTexts(t, map[string]string{"four.yaml": strings.Replace(ofAccounts("four", "a"), "- name: four", "- name: one", 1)}))
	if _, err := Compare(t.Context(), moved); err == nil || !strings.Contains(err.Error(), `rule "one" is also in Rules/one, which runs it`) {
		t.Errorf("a rule that another object has: %v", err)
	}
}

// TestPlanReconcilesWhatRunReconciles changes a rule that selects one of three resources. The order of the rules is that
// of the objects, as in run: in whatever order files have them, no other resource is reconciled.
func TestPlanReconcilesWhatRunReconciles(t *testing.T) {
	selecting := func(object, value string) string {
		return strings.Replace(ofAccounts(object, value), "kind: ServiceAccount}", "kind: ServiceAccount, when: self.metadata.name == 'x'}", 1)
	}
	one, two := ofAccounts("one", "a"), ofAccounts("two", "a")
	var accounts []string
	for _, name := range []string{"x", "y", "z"} {
		accounts = append(accounts, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: \""+name+"\", namespace: team}}")
	}
	f := newFleet(t, loadTexts(t, map[string]string{"Rules home/one": one, "Rules home/three": selecting("three", "a"), "Rules home/two": two}).Program,
		accounts...)
	three := selecting("three", "b")
	for name, test := range map[string]struct {
		texts, before map[string]string
		folders       bool
	}{
		"one object":             {texts: map[string]string{"three.yaml": three}},
		"two objects":            {texts: map[string]string{"1.yaml": two, "2.yaml": three}},
		"a folder":               {texts: map[string]string{"rules/1.yaml": two, "rules/2.yaml": three, "rules/3.yaml": one}, folders: true},
		"one object and another": {texts: map[string]string{"three.yaml": three}, before: map[string]string{"three.yaml": selecting("three", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			f.T = t
			o := f.options(loadTexts(t, test.texts))
			o.Folders = test.folders
			if test.before != nil {
				o.Against, o.AgainstName = loadTexts(t, test.before), "before"
			}
			if r := f.plan(o); r.Resources.Reconciled != 1 || r.Resources.Changed != 1 || r.Already != 0 {
				t.Errorf("%+v, %d already", r.Resources, r.Already)
			}
		})
	}
}
