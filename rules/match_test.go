package rules

import "testing"

func TestMatching(t *testing.T) {
	const rest = "  children:\n  - id: c\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
	rendered := []string{"c rendered; progressing: not created yet"}
	for _, s := range []story{
		{name: "namespaces", rule: "    namespaces: [other, n*]\n" + rest, want: rendered},
		{name: "other namespaces", rule: "    namespaces: [other, n]\n" + rest, want: []string{"does not match"}},
		{name: "labels", rule: "    selector: {matchLabels: {tier: web}}\n" + rest, want: rendered},
		{name: "other labels", rule: "    selector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}\n" + rest, want: []string{"does not match"}},
		{name: "when", rule: "    when: self.spec.on\n" + rest, spec: object{"on": true}, want: rendered},
		{name: "when not", rule: "    when: self.spec.on\n" + rest, spec: object{"on": false}, want: []string{"does not match"}},
		{
			name: "an error in when is not no", rule: "    when: self.spec.on\n" + rest,
			want: []string{`RuleError: rules.yaml:8:20: rule "r": for.when: no such key: on`},
		},
		{
			name: "nor is something that is not there yet", rule: "    when: self.status.on\n" + rest,
			want: []string{`RuleError: rules.yaml:8:11: rule "r": for.when: self.status.on is not there yet: read it with .? or has()`},
		},
		{
			name: "when a let says", rule: "    when: wanted && servers.on.size > 0\n  let:\n    wanted: enabled == \"yes\"\n    enabled: self.spec.on\n" +
				"    servers: {on: {size: \"${self.spec.size}\"}}\n" + rest,
			spec: object{"on": "yes", "size": int64(1)}, want: rendered,
		},
		{
			name: "when a let says not", rule: "    when: wanted\n  let: {wanted: self.spec.on}\n" + rest,
			spec: object{"on": false}, want: []string{"does not match"},
		},
		{
			name: "an error in a let is not no", rule: "    when: wanted\n  let: {wanted: self.spec.on}\n" + rest,
			want: []string{`RuleError: rules.yaml:9:26: rule "r": for.when: let.wanted: no such key: on`},
		},
	} {
		t.Run(s.name, s.run)
	}
}

func TestValidation(t *testing.T) {
	const rule = `
  let: {limit: "10"}
  validate:
  - expression: self.spec.n < limit
    message: n is ${self.spec.n}, not below ${limit}
  - expression: self.spec.n != 7
  - expression: self.spec.n != 11
    message: "never ${self.spec.nope}"
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
  status: {a: 1}
`
	for _, s := range []story{
		{name: "all say yes", rule: rule, spec: object{"n": int64(1)}, want: []string{"c rendered; progressing: not created yet", `status {"a":1}`}},
		{name: "one says no", rule: rule, spec: object{"n": int64(7)}, want: []string{"InvalidSpec: self.spec.n != 7 is false"}},
		{
			name: "several say no, one cannot say why", rule: rule, spec: object{"n": int64(11)},
			want: []string{"InvalidSpec: n is 11, not below 10; self.spec.n != 11 is false"},
		},
		{
			name: "one fails", rule: rule,
			want: []string{`RuleError: rules.yaml:10:26: rule "r": validate[0]: no such key: n`},
		},
	} {
		t.Run(s.name, s.run)
	}
}
