package inventory

import (
	"maps"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

// programWith compiles rules that are given as "NAME KIND MORE".
func programWith(t *testing.T, list ...string) *rules.Program {
	t.Helper()
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	for _, r := range list {
		name, rest, _ := strings.Cut(r, " ")
		kind, more, _ := strings.Cut(rest, " ")
		text += "- name: " + name + "\n  for: {apiVersion: g/v1, kind: " + kind + "}\n" + more + "  children:\n  - id: c\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}}\n"
	}
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestSucceed replaces the rules of an installation by others, as plan does.
func TestSucceed(t *testing.T) {
	const deletes = "  onRuleRemoval: delete\n"
	before := programWith(t, "kept A", "gone A", "deleted A "+deletes, "moved A")
	after := programWith(t, "kept A", "moved B")
	stored := func(program *rules.Program, source string) Stored {
		entries := map[Key]Entry{}
		if program != nil {
			(&Inventory{options: Options{Source: source}}).merge(entries, program, Check{})
		}
		data, err := encode(entries)
		if err != nil {
			t.Fatal(err)
		}
		return Stored{Data: data}
	}
	names := func(list []RemovedRule) string {
		var all []string
		for _, r := range list {
			all = append(all, r.Name)
		}
		return strings.Join(all, " ")
	}
	for _, test := range []struct {
		name    string
		stored  Stored
		before  *rules.Program
		ended   string
		removed string
	}{
		{"the inventory knows the rules", stored(before, "host:/rules"), nil, "deleted gone moved", "deleted"},
		{"their text is known, too", stored(before, "host:/rules"), before, "deleted gone moved", "deleted"},
		{"only their text is known", stored(nil, ""), before, "deleted gone moved", "deleted"},
		{"they are the same", stored(after, "host:/rules"), after, "", ""},
		{"a rule ended before", stored(before, "host:/rules"), programWith(t, "kept A", "moved A"), "moved", "deleted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := test.stored.Succeed(test.before, after)
			if err != nil {
				t.Fatal(err)
			}
			if names(s.Is.Ended) != test.ended || names(s.Is.Removed) != test.removed {
				t.Errorf("ended %q, removed %q; want %q and %q", names(s.Is.Ended), names(s.Is.Removed), test.ended, test.removed)
			}
		})
	}
	if active, _ := stored(before, "").Active(); len(active) != 4 || !maps.Equal(active, Digests(before)) {
		t.Errorf("active are %v", active)
	}
}
