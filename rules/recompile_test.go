package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/source"
)

// severalRules are rules that share files, kinds and lines.
var severalRules = []source.File{
	{Name: "a.yaml", Data: []byte(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: one
  for:
  - {apiVersion: apps/v1, kind: Deployment}
  - {apiVersion: apps/v1, kind: StatefulSet}
  children:
  - id: settings
    onDelete: orphan
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-1", labels: &labels {app: one}}
      data:
        text: |
          ${self.spec.replicas > 1
            ? "many" : "one"}
- name: two
  for: {apiVersion: example.com/v1, kind: Web, when: self.spec.on}
  rollout: {maxDeletions: 3}
  let:
    size: self.spec.size * 2
  children:
  - id: settings
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-2", labels: *labels}, data: {size: "${string(size)}"}}
  status: {size: "${size}"}
- {name: three, for: {apiVersion: example.com/v1, kind: Web}, validate: [{expression: self.spec.size > 0}]}
---
apiVersion: reconcel.dev/v1alpha1
kind: Rules
define:
  most: "3"
rules:
- name: four
  for: {apiVersion: example.com/v1, kind: Web}
  status: {most: "${most}"}
`)},
	{Name: "b.yaml", Data: []byte(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: five
  for: {apiVersion: example.com/v1, kind: Job}
  status: {a: "${self.spec.a}"}
`)},
}

// TestRecompile edits each line of rules in several ways, and compares what Recompile makes of
// them with what Compile makes.
func TestRecompile(t *testing.T) {
	before := Compile(severalRules)
	if err := before.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	reused := 0
	for i, file := range severalRules {
		lines := strings.SplitAfter(string(file.Data), "\n")
		for at, line := range lines {
			for name, by := range map[string]string{
				"removed": "", "repeated": line + line, "after a comment": "# note\n" + line, "other number": strings.NewReplacer("1", "2", "2", "3").Replace(line),
				"other name": strings.NewReplacer("one", "uno", "two", "due", "size", "length", "Web", "Page").Replace(line), "deeper": " " + line,
			} {
				edited := strings.Join(lines[:at], "") + by + strings.Join(lines[at+1:], "")
				sources := []source.File{severalRules[0], severalRules[1]}
				sources[i].Data = []byte(edited)
				want, got := Compile(sources), before.Recompile(sources)
				reused += len(got.reused)
				if diff := cmp.Diff(described(want), described(got)); diff != "" {
					t.Fatalf("%s, line %d %s (-compiled +recompiled):\n%s", file.Name, at+1, name, diff)
				}
			}
		}
	}
	if reused < 500 {
		t.Errorf("%d rules were not compiled again, want at least 500", reused)
	}
	if same := before.Recompile(severalRules); len(same.Changed().Rules) != 1 {
		t.Errorf("%d rules of the same files were compiled again, want the one with definitions", len(same.Changed().Rules))
	}
}

// described is what a program and its errors say.
func described(l *Loaded) (all []string) {
	for _, e := range l.Errors {
		all = append(all, e.Error())
	}
	if l.Program == nil {
		return all
	}
	for _, e := range l.Program.Expressions() {
		all = append(all, fmt.Sprintf("%+v", e))
	}
	for _, p := range l.Program.Primaries() {
		for _, r := range p.Rules {
			all = append(all, fmt.Sprintf("%s %s %s %x %+v", p.GVK, r.Name, r.Pos, r.Digest, r.Rollout))
			for _, c := range r.Children {
				all = append(all, fmt.Sprintf("%s %s %s", c.ID, c.Pos, c.GVK))
			}
		}
	}
	return all
}

// TestRecompileObjects keeps which object has a rule, and what the object approves, in files that change and in others.
func TestRecompileObjects(t *testing.T) {
	named := func(name, approved string) source.File {
		return source.File{Name: name + ".yaml", Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nmetadata:\n  name: " + name +
			"\n  annotations: {reconcel.dev/approve: \"" + approved + "\"}\nrules:\n- name: " + name + "\n  for: {apiVersion: v1, kind: ConfigMap}\n")}
	}
	l := Compile([]source.File{named("one", "1111111111"), named("two", "")})
	renamed := named("one", "2222222222, 3333333333")
	renamed.Data = []byte(strings.Replace(string(renamed.Data), "  name: one\n", "  name: uno\n", 1))
	for _, next := range [][]source.File{{renamed, named("two", "")}, {renamed, named("two", "4444444444\n5555555555")}} {
		l = l.Recompile(next)
	}
	if err := l.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range l.Program.Primaries()[0].Rules {
		of := r.Name + " of " + l.Program.ObjectOf(r) + ":"
		for _, hash := range []string{"1111111111", "2222222222", "3333333333", "4444444444", "5555555555"} {
			if l.Program.Approves(r, hash) {
				of += " " + hash
			}
		}
		got = append(got, of)
	}
	if diff := cmp.Diff([]string{"one of uno: 2222222222 3333333333", "two of two: 4444444444 5555555555"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
