package rules

import (
	"strings"
	"testing"
)

// nullRule has a null in each optional field.
const nullRule = `
  let:
    literal: {a: null, b: x}
    computed: {a: "${null}", b: "${self.spec.x}"}
    chosen: 'self.spec.x == "x" ? null : "value"'
  children:
  - id: c
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: c
        namespace: null
        labels: {a: null, b: "${null}", c: "${self.spec.x == 'x' ? null : 'v'}", d: "${chosen}", e: v}
        annotations: '${{"a": null, "b": self.spec.x == "x" ? null : "v", "c": "v"}}'
      data: {a: null, b: "${chosen}", c: v}
  - id: s
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: s}
      data: {a: null, b: "${null}", c: "${{'c': null, 'd': 'eA=='}.c}", d: eA==}
      stringData: {a: null, e: "${chosen}", f: v}
  - id: custom
    template:
      apiVersion: example.com/v1
      kind: Custom
      metadata: {name: custom, labels: "${literal}"}
      spec: {a: null, b: "${chosen}", literal: "${literal}", computed: "${merge(computed, {'c': 1})}"}
  patch:
    metadata: {labels: {a: null, b: "${chosen}"}, annotations: {a: v}}
    spec: {a: null, b: "${chosen}"}
  status:
    a: null
    b: ${chosen}
    c: {d: "${null}", e: 1}
    literal: ${literal}
`

func TestNullLeavesAFieldOut(t *testing.T) {
	s := scene{rule: nullRule, self: object{"spec": object{"x": "x"}}}
	s.check(t, "c: c", "s: s", "custom: custom", `status {"c":{"e":1},"literal":{"b":"x"}}`, `patch {"metadata":{"annotations":{"a":"v"}},"spec":{}}`)
	r := s.render(t)
	for i, want := range []string{
		`"data":{"c":"v"},"kind":"ConfigMap","metadata":{"labels":{"e":"v","reconcel.dev/child":"c","reconcel.dev/rule":"r"},`,
		`"data":{"d":"eA==","f":"dg=="}`,
		`"spec":{"computed":{"b":"x","c":1},"literal":{"b":"x"}},"metadata":{"labels":{"b":"x",`,
	} {
		if got := body(t, first(&r.Children[i])); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if got := body(t, first(&r.Children[0])); !strings.Contains(got, `"annotations":{"c":"v"}`) {
		t.Error(got)
	}
}

func TestNullThatCannotBeLeftOut(t *testing.T) {
	const rule = `
  children:
  - id: text
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: text}, data: {a: "a${null}"}}
  - id: name
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.spec.?x.hasValue() ? 'x' : null}"}}
`
	(&scene{rule: rule}).check(t,
		`text: text failed rules.yaml:10:87: rule "r": child "text": data.a: null cannot be part of text`,
		`name: failed rules.yaml:12:69: rule "r": child "name": metadata.name: must be text, got null`)
}

// TestNullInASelector rejects a null in a selector, because a selector with fewer labels
// selects more.
func TestNullInASelector(t *testing.T) {
	for _, selector := range []string{`{matchLabels: {tier: "${null}"}}`, `{matchLabels: "${{'tier': null}}"}`} {
		s := scene{rule: "  lookups: [{id: pods, apiVersion: v1, kind: Pod, selector: " + selector + "}]\n  status: {n: \"${size(pods)}\"}\n"}
		if got := objects(s.render(t)); len(got) != 2 || got[0] != "status {}" || len(s.asked) > 0 {
			t.Errorf("%s selects too much: %v %v", selector, got, s.asked)
		}
	}
}

func TestSidesOfAChoice(t *testing.T) {
	for expression, want := range map[string]string{
		`self.a ? null : "x"`:            "",
		`self.a ? 1 : self.b ? null : 2`: "",
		`(self.a ? null : 1) == null`:    "",
		`self.a ? 1 : "x"`:               "the two sides of ? : are integer and string",
		`self.a ? optional.none() : {"a": 1}`: "the two sides of ? : are optional any and map of integer " +
			"(write optional.of(...) on the other side, or, to leave a field out, null instead of optional.none())",
	} {
		got, _, _ := strings.Cut(report(t, rulesFile("- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  let:\n    x: '"+expression+"'\n")), "\n")
		_, message, _ := strings.Cut(got, "let.x: ")
		if message != want {
			t.Errorf("%s: %s", expression, got)
		}
	}
}
