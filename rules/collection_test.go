package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/kstatus"
)

// itemsRule reads a list in every field that can read one.
const itemsRule = `
  let:
    names: items.map(i, i.metadata.name)
  children:
  - id: items
    when: self.spec.?wanted.orValue(true)
    forEach: [{name: n, in: self.spec.names}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${n}"}, data: {x: "${self.spec.?x}"}}
  - id: reader
    template: {apiVersion: v1, kind: Secret, metadata: {name: reader}, stringData: {names: "${names.join(',')}"}}
  patch:
    metadata: {labels: {all: "${names.join('-')}"}}
  status:
    found: ${names}
    first: ${items[?0].?metadata.?name}
    has: ${size(items) > 0 && has(items[0].metadata)}
    progress: ${size(existing(items))} of ${size(self.spec.names)}
    existing: ${existing(items).map(i, i.metadata.name)}
  conditions:
  - type: AllGood
    when: items.all(i, has(i.metadata))
`

func allGood(t *testing.T, s *scene, want string) {
	t.Helper()
	c := s.render(t).Conditions[0]
	if got := string(c.Status) + ": " + c.Message; got != want {
		t.Errorf("AllGood is %s, want %s", got, want)
	}
}

func TestListOfChildrenIsUnknownUntilAllExist(t *testing.T) {
	ab := object{"spec": object{"names": list{"b", "a"}}}
	t.Run("none of two", func(t *testing.T) {
		s := scene{rule: itemsRule, self: ab}
		s.check(t, "items: b", "items: a", "reader: reader waiting waits for items (0 of 2 exist)",
			`status {"existing":[],"progress":"0 of 2"}`,
			"patch waits for items (0 of 2 exist)")
		allGood(t, &s, "Unknown: waits for items (0 of 2 exist)")
	})
	t.Run("one of two", func(t *testing.T) {
		s := scene{rule: itemsRule, self: ab, observed: cluster{"ConfigMap a": exists(named("a"))}}
		s.check(t, "items: b", "items: a exists", "reader: reader waiting waits for items (1 of 2 exist)",
			`status {"existing":["a"],"progress":"1 of 2"}`,
			"patch waits for items (1 of 2 exist)")
		allGood(t, &s, "Unknown: waits for items (1 of 2 exist)")
	})
	t.Run("both", func(t *testing.T) {
		s := scene{rule: itemsRule, self: ab, observed: cluster{"ConfigMap a": exists(named("a")), "ConfigMap b": exists(named("b"))}}
		s.check(t, "items: b exists", "items: a exists", "reader: reader",
			`status {"existing":["a","b"],"first":"a","found":["a","b"],"has":true,"progress":"2 of 2"}`,
			`patch {"metadata":{"labels":{"all":"a-b"}}}`)
		allGood(t, &s, "True: ")
	})
	t.Run("none are wanted", func(t *testing.T) {
		s := scene{rule: itemsRule, self: object{"spec": object{"names": list{}}}}
		s.check(t, "reader: reader",
			`status {"existing":[],"found":[],"has":false,"progress":"0 of 0"}`,
			`patch {"metadata":{"labels":{"all":""}}}`)
		allGood(t, &s, "True: ")
	})
	t.Run("when excludes them: the list is empty", func(t *testing.T) {
		s := scene{rule: itemsRule, self: object{"spec": object{"names": list{"a"}, "wanted": false}}}
		s.check(t, "items: excluded", "reader: reader",
			`status {"existing":[],"found":[],"has":false,"progress":"0 of 1"}`,
			`patch {"metadata":{"labels":{"all":""}}}`)
		allGood(t, &s, "True: ")
	})
}

// TestExistingOfAListThatIsNotKnown expects existing() to list objects even while the
// wanted ones are unknown.
func TestExistingOfAListThatIsNotKnown(t *testing.T) {
	const rule = `
  lookups:
  - {id: source, apiVersion: v1, kind: ConfigMap, name: source}
  children:
  - id: items
    forEach: [{name: n, in: "source.data.names.split(',')"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${n}"}}
  status:
    count: ${size(existing(items))}
    all: ${size(items)}
`
	s := scene{rule: rule, owned: []Live{exists(named("b")), exists(named("a"))}}
	r := s.render(t)
	if diff := cmp.Diff([]string{"items: waiting ConfigMap/ns/source (source)", `status {"count":2}`}, objects(r)); diff != "" {
		t.Error(diff)
	}
	if want := []FieldWait{{"status.all", []string{"items (waits for ConfigMap/ns/source (source))"}}}; !cmp.Equal(want, r.StatusWaits) {
		t.Error(r.StatusWaits)
	}
}

// TestListWithoutTheElementsThatAreNotWanted expects a list without its excluded
// elements.
func TestListWithoutTheElementsThatAreNotWanted(t *testing.T) {
	const rule = `
  validate:
  - expression: size(all) < 3
  let:
    all: items
  children:
  - id: extra
    when: "false"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: extra}}
  - id: items
    forEach: [{name: n, in: '["a", "b"]'}]
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${n}"}, data: {x: "${n == 'a' ? extra.data.x : 'eA=='}"}}
  status:
    count: ${size(all)}
`
	s := scene{rule: rule, observed: cluster{"Secret b": exists(named("b"))}}
	s.check(t, "extra: excluded", "items: a excluded", "items: b exists", `status {"count":1}`)
}

func TestEntryOfFinalizeReadsWhatExists(t *testing.T) {
	const rule = `
  let:
    names: items.map(i, i.metadata.name).join(",")
  children:
  - id: items
    forEach: [{name: n, in: '["a", "b"]'}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${n}"}}
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {names: "${names}"}}
  finalize:
  - id: farewell
    timeout: 1m
    template: {apiVersion: v1, kind: Secret, metadata: {name: farewell}, data: {names: "${base64.encode(bytes(names))}"}}
  status:
    names: ${names}
`
	s := scene{rule: rule, self: object{"metadata": object{"name": "p", "namespace": "ns", "deletionTimestamp": "2024-01-01T00:00:00Z"}},
		observed: cluster{"ConfigMap b": exists(named("b"))}}
	r := s.render(t)
	if diff := cmp.Diff([]string{"items: a", "items: b exists", "reader: reader waiting waits for items (1 of 2 exist)", "farewell: farewell", "status {}"}, objects(r)); diff != "" {
		t.Error(diff)
	}
	if got := body(t, first(&r.Children[2])); !strings.Contains(got, `"names":"Yg=="`) {
		t.Error(got)
	}
}

func TestReadinessThatReadsTheListItself(t *testing.T) {
	const rule = `
  children:
  - id: items
    forEach: [{name: n, in: '["a", "b"]'}]
    readyWhen: size(items) == 2
    failWhen: size(existing(items)) > 2
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${n}"}}
`
	s := scene{rule: rule, observed: cluster{"ConfigMap a": exists(named("a"))}}
	if d := &s.render(t).Children[0].Objects[0]; d.Readiness != kstatus.Progressing || d.Reason != "readyWhen waits for items (1 of 2 exist)" {
		t.Errorf("%v %s", d.Readiness, d.Reason)
	}
	s.observed["ConfigMap b"] = exists(named("b"))
	if d := &s.render(t).Children[0].Objects[0]; d.Readiness != kstatus.Ready {
		t.Errorf("%v %s", d.Readiness, d.Reason)
	}
}

func TestExistingTakesTheIDOfAListOfChildren(t *testing.T) {
	const rules = `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  lookups:
  - {id: looked, apiVersion: v1, kind: ConfigMap, selector: {}}
  children:
  - id: items
    forEach: [{name: n, in: '["a"]'}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${n}"}}
  - id: single
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: single}}
  status:
    a: ${existing(single)}
    b: ${existing(looked)}
    c: ${existing(items.filter(i, true))}
    d: ${self.spec.l.map(items, existing(items))}
    e: ${existing(self)}
    ok: ${existing(items).map(i, size(existing(items)))}
`
	want := strings.TrimPrefix(`
rules.yaml:15:19: error: rule "r": status.a: existing() takes the id of a child with forEach or replicas (single is a single object: exists(single) says whether it exists)
   15 |     a: ${existing(single)}
      |                   ^
rules.yaml:16:19: error: rule "r": status.b: existing() takes the id of a child with forEach or replicas (looked is a lookup, whose list is always complete: write looked)
   16 |     b: ${existing(looked)}
      |                   ^
rules.yaml:17:31: error: rule "r": status.c: existing() takes the id of a child with forEach or replicas (write its id alone, like existing(pods))
   17 |     c: ${existing(items.filter(i, true))}
      |                               ^
rules.yaml:18:42: error: rule "r": status.d: existing() takes the id of a child with forEach or replicas (write its id alone, like existing(pods))
   18 |     d: ${self.spec.l.map(items, existing(items))}
      |                                          ^
rules.yaml:19:19: error: rule "r": status.e: existing() takes the id of a child with forEach or replicas (write its id alone, like existing(pods))
   19 |     e: ${existing(self)}
      |                   ^
`, "\n")
	if diff := cmp.Diff(want, report(t, rulesFile(rules))); diff != "" {
		t.Error(diff)
	}
}
