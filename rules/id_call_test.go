package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// idRule asks for a lookup, a child, and a child that when may exclude.
const idRule = `
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${self.status.settings}"}
  children:
  - id: account
    when: self.spec.?identity.orValue(true)
    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: account}}
  - id: pod
    onChange: keep
    template:
      apiVersion: v1
      kind: Pod
      metadata: {name: pod}
      spec: {serviceAccountName: '${included(account) ? account.status.name : "default"}'}
  status:
    account: ${exists(account)}
    wanted: ${included(account)}
    settings: ${exists(settings)}
`

func TestExistsAndIncluded(t *testing.T) {
	named := object{"settings": "shared"}
	t.Run("wanted, and not there", func(t *testing.T) {
		s := scene{rule: idRule, self: object{"status": named}}
		s.check(t, "account: account", "pod: pod waiting waits for account.status.name", `status {"account":false,"settings":false,"wanted":true}`)
	})
	t.Run("wanted, and there", func(t *testing.T) {
		account := exists(object{"metadata": object{"name": "account"}, "status": object{"name": "sa"}})
		s := scene{
			rule: idRule, self: object{"status": named}, observed: cluster{"ServiceAccount account": account},
			lookup: map[string][]object{"ConfigMap": {{"metadata": object{"name": "shared"}}}},
		}
		s.check(t, "account: account exists", "pod: pod", `status {"account":true,"settings":true,"wanted":true}`)
		if got := body(t, first(&s.render(t).Children[1])); !strings.Contains(got, `"serviceAccountName":"sa"`) {
			t.Error(got)
		}
	})
	t.Run("not wanted", func(t *testing.T) {
		s := scene{rule: idRule, self: object{"status": named, "spec": object{"identity": false}}}
		s.check(t, "account: excluded", "pod: pod", `status {"account":false,"settings":false,"wanted":false}`)
		if got := body(t, first(&s.render(t).Children[1])); !strings.Contains(got, `"serviceAccountName":"default"`) {
			t.Error(got)
		}
	})
	t.Run("the name of the lookup is not known", func(t *testing.T) {
		s := scene{rule: idRule}
		s.check(t, "account: account", "pod: pod waiting waits for account.status.name", `status {"account":false,"wanted":true}`)
	})
}

func TestExistsAndIncludedThatAreNotKnown(t *testing.T) {
	const rule = `
  children:
  - id: a
    when: self.status.a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.status.b}"}}
  - id: reader
    when: included(a)
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}}
  - id: fallback
    when: '!exists(b)'
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: fallback}}
`
	(&scene{rule: rule}).check(t, "a: a waiting waits for self.status.a", "b: waiting waits for self.status.b",
		"reader: reader waiting waits for a", "fallback: fallback waiting waits for b")
	(&scene{rule: rule, self: object{"status": object{"a": true, "b": "b"}}}).check(t, "a: a", "b: b", "reader: reader", "fallback: fallback")
	(&scene{rule: rule, self: object{"status": object{"a": false, "b": "b"}}, observed: cluster{"ConfigMap b": exists(named("b"))}}).
		check(t, "a: excluded", "b: b exists", "reader: excluded", "fallback: excluded")
}

func TestMistakesInExistsAndIncluded(t *testing.T) {
	const rules = `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let:
    text: '"x"'
  lookups:
  - {id: looked, apiVersion: v1, kind: ConfigMap, selector: {}}
  children:
  - id: items
    forEach: [{name: n, in: '["a"]'}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${n}"}}
  status:
    a: ${exists(items)}
    b: ${exists(looked)}
    c: ${exists(self.spec.image)}
    d: ${exists(text)}
    e: ${included(looked)}
    f: ${included(self)}
    g: ${self.spec.l.exists(l)}
    h: ${exists()}
    ok: ${included(items)}
`
	var got []string
	for line := range strings.Lines(report(t, rulesFile(rules))) {
		if _, message, ok := strings.Cut(line, "status."); ok {
			got = append(got, strings.TrimSpace(message))
		}
	}
	want := []string{
		"a: exists() takes the id of a lookup or child that is a single object (items is a list: existing(items) are its objects that exist)",
		"b: exists() takes the id of a lookup or child that is a single object (looked is a list: size(looked) > 0 says whether it has objects)",
		"c: exists() takes the id of a lookup or child that is a single object (has(x.field) says whether a field exists)",
		"d: exists() takes the id of a lookup or child that is a single object (has(x.field) says whether a field exists)",
		"e: included() takes the id of a child (looked is a lookup, which is never excluded)",
		"f: included() takes the id of a child (write its id alone, like included(pods))",
		"g: exists() does not take these arguments (write list.exists(x, condition), or exists(id) for a lookup or child)",
		"h: exists() does not take these arguments (write list.exists(x, condition), or exists(id) for a lookup or child)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
