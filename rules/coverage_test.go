package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everywhere has an expression in each field that takes one. Each expression names its
// field if there is room.
const everywhere = `
- name: every
  for: {apiVersion: example.com/v1, kind: Primary, when: '"for.when" != ""'}
  let:
    plain: '"let"'
    labels: {fixed: x, made: '${"let." + "map"}'}
    never: '"let never"'
  lookups:
  - {id: one, apiVersion: v1, kind: ConfigMap, namespace: '${"ns"}', name: '${"lookups.name"}'}
  - {id: some, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: '${"lookups.selector"}'}}}
  validate:
  - {expression: 'self.spec.ok != "validate"', message: '${"validate." + "message"}'}
  children:
  - id: first
    when: '"children.when" != ""'
    ignoreFields: [spec.kept]
    readyWhen: 'child.spec.x != "readyWhen"'
    failWhen: 'child.spec.x == "failWhen"'
    template:
      apiVersion: example.com/v1
      kind: C
      metadata: {name: '${"name"}', labels: '${labels}', annotations: '${{"a": "annotations"}}'}
      spec: {x: '${"template"}', y: '${plain}-text', literal: '$${x}', kept: '${"kept"}', later: '${one.?data.?x.orValue(some.size())}'}
  - id: items
    forEach: [{name: e, index: i, in: '["for", "each"]'}]
    template: {apiVersion: v1, kind: Secret, metadata: {name: 'loop-${e}'}, stringData: {x: '${e + "stringData"}'}}
  - id: many
    replicas: '1 + 1'
    maxUnavailable: '2 - 1'
    onChange: replace
    template: {apiVersion: v1, kind: Pod, metadata: {generateName: 'many-'}, spec: {x: '${size(items)}'}}
  patch: {metadata: {labels: {a: '${"patch"}'}}}
  status: {x: '${"status"}', waits: '${first.status.x}', l: ['${1}']}
  conditions:
  - {type: Up, when: '"when" != ""', reason: '${"Reason"}', message: '${"mess" + "age"}'}
  finalize:
  - {id: last, timeout: 1m, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}, data: {x: '${"finalize"}'}}}
`

func TestExpressions(t *testing.T) {
	p := mustLoad(t, everywhere)
	lines := strings.Split(string(rulesFile(everywhere)[0].Data), "\n")
	var got []string
	for _, e := range p.Expressions() {
		if e.Rule != "every" || e.Pos.File != "rules.yaml" {
			t.Errorf("%+v", e)
		}
		if at := lines[e.Pos.Line-1][e.Pos.Column-1:]; !strings.HasPrefix(at, e.Text) {
			t.Errorf("at %v is %q, not %q", e.Pos, at, e.Text)
		}
		got = append(got, e.Text)
	}
	want := []string{
		`"for.when" != ""`, `"let"`, `"let." + "map"`, `"let never"`, `"ns"`, `"lookups.name"`, `"lookups.selector"`,
		`self.spec.ok != "validate"`, `"validate." + "message"`, `"children.when" != ""`, `child.spec.x != "readyWhen"`,
		`child.spec.x == "failWhen"`, `"name"`, `{"a": "annotations"}`, `"template"`, `plain`, `"kept"`,
		`one.?data.?x.orValue(some.size())`, `["for", "each"]`, `e`, `e + "stringData"`, `1 + 1`, `2 - 1`, `size(items)`,
		`"patch"`, `"status"`, `first.status.x`, `1`, `"when" != ""`, `"Reason"`, `"mess" + "age"`, `"finalize"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// left returns the expressions that have not run.
func left(p *Program, c *Coverage) (out []string) {
	for _, e := range p.Expressions() {
		if !c.Ran(e) {
			out = append(out, e.Text)
		}
	}
	return out
}

func TestCoverage(t *testing.T) {
	p := mustLoad(t, everywhere)
	var seen Coverage
	in := Input{
		Coverage: &seen, Self: object{"metadata": object{"name": "p", "namespace": "ns"}, "spec": object{"ok": "validate"}},
		Lookup: func(*Lookup, Query) ([]map[string]any, error) { return nil, nil },
	}
	var out Rendering
	steps := []struct {
		about string
		do    func()
		want  []string
	}{
		{"a check that fails keeps all but the status from running", func() {}, []string{
			`"let"`, `"let." + "map"`, `"let never"`, `"ns"`, `"lookups.name"`, `"lookups.selector"`, `child.spec.x != "readyWhen"`, `child.spec.x == "failWhen"`,
			`{"a": "annotations"}`, `"template"`, `plain`, `"kept"`, `one.?data.?x.orValue(some.size())`, `["for", "each"]`, `e`, `e + "stringData"`,
			`1 + 1`, `2 - 1`, `size(items)`, `"patch"`, `first.status.x`, `"finalize"`,
		}},
		{"a living object runs all but its end", func() {
			in.Self["spec"] = object{"ok": "yes"}
		}, []string{`"let never"`, `child.spec.x != "readyWhen"`, `child.spec.x == "failWhen"`, `size(items)`, `first.status.x`, `"finalize"`}},
		{"what a live child is asked", func() {
			in.Observed = func(id Identity) Live {
				return exists(object{"metadata": object{"name": id.Name}, "spec": object{"x": "y"}})
			}
		}, []string{`"let never"`, `first.status.x`, `"finalize"`}},
		{"the end", func() {
			in.Self["metadata"].(object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}, []string{`"let never"`, `first.status.x`}},
	}
	for _, s := range steps {
		s.do()
		p.Primaries()[0].Render(in, &out)
		got := left(p, &seen)
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s:\n%s", s.about, diff)
		}
	}
}

// TestCoverageOfAliases counts an expression that a YAML alias repeats once for each rule
// that contains it.
func TestCoverageOfAliases(t *testing.T) {
	rule := func(name, kind, spec string) string {
		return fmt.Sprintf(`
- name: %s
  for: {apiVersion: example.com/v1, kind: %s}
  children:
  - {id: c, template: {apiVersion: example.com/v1, kind: C, metadata: {name: c}, spec: %s}}`, name, kind, spec)
	}
	p := mustLoad(t, rule("a", "A", "{x: &x '${self.spec.x}', y: *x}")+rule("b", "B", "{x: *x}"))
	all := p.Expressions()
	if len(all) != 2 || all[0].Pos != all[1].Pos || all[0].Rule != "a" || all[1].Rule != "b" {
		t.Fatalf("%+v", all)
	}
	var seen Coverage
	var out Rendering
	in := Input{Coverage: &seen, Self: object{"metadata": object{"name": "p", "namespace": "ns"}, "spec": object{}}}
	p.Primaries()[1].Render(in, &out)
	if seen.Ran(all[0]) || !seen.Ran(all[1]) {
		t.Error("the expression of rule b ran, if only into an error, and that of rule a did not")
	}
}
