package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// previousRule is a state machine over its own Pods: it starts the next one when the last
// one has succeeded.
const previousRule = `
  let:
    done: previous(steps).filter(p, p.?status.?phase.orValue("") == "Succeeded").map(p, p.metadata.name)
  children:
  - id: steps
    forEach: {n: "lists.range(min([size(done) + 1, 3]))"}
    onChange: keep
    template: {apiVersion: v1, kind: Pod, metadata: {name: "step-${n}"}}
  status:
    done: ${done}
    now: ${previous(steps).map(p, p.metadata.name)}
`

func stepPod(name, phase string) Live {
	return Live{Object: object{"metadata": object{"name": name, "namespace": "ns"}, "status": object{"phase": phase}}}
}

func TestPreviousOfTheChildItself(t *testing.T) {
	rule := strings.Replace(previousRule, "min([size(done) + 1, 3])", "size(done) < 2 ? size(done) + 1 : 3", 1)
	(&scene{rule: rule}).check(t, "steps: step-0", `status {"done":[],"now":[]}`)
	(&scene{rule: rule, owned: []Live{stepPod("step-0", "Running")}}).check(t, "steps: step-0", `status {"done":[],"now":["step-0"]}`)
	(&scene{rule: rule, owned: []Live{stepPod("step-1", "Running"), stepPod("step-0", "Succeeded")}}).check(t,
		"steps: step-0", "steps: step-1", `status {"done":["step-0"],"now":["step-0","step-1"]}`)
}

func TestPreviousIsKnown(t *testing.T) {
	const rule = `
  children:
  - id: waits
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.status.later}"}}
  - id: excluded
    when: "false"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: excluded}}
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {n: "${string(size(previous(waits)) + size(previous(excluded)))}"}}
`
	t.Run("while the child waits or is excluded", func(t *testing.T) {
		s := scene{rule: rule}
		s.check(t, "waits: waiting waits for self.status.later", "excluded: excluded", "reader: reader")
		reader := slices.IndexFunc(s.render(t).Children, func(c ChildResult) bool { return c.Child.ID == "reader" })
		if got := body(t, first(&s.render(t).Children[reader])); !strings.Contains(got, `"n":"0"`) {
			t.Error(got)
		}
	})
	t.Run("but not while its kind is not watched", func(t *testing.T) {
		s := scene{rule: rule, unwatched: ErrUnwatched}
		s.check(t, "waits: waiting waits for self.status.later", "excluded: excluded",
			"reader: reader waiting waits for previous(excluded) (its kind is not watched yet), previous(waits) (its kind is not watched yet)")
	})
}

// An absent field of an object that still exists is no reason to delete what reads it.
func TestFieldsOfPreviousObjectsOfAnExcludedChild(t *testing.T) {
	s := scene{rule: `
  children:
  - id: old
    when: "false"
    onChange: keep
    template: {apiVersion: v1, kind: Pod, metadata: {name: old}}
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {ip: "${previous(old)[0].status.podIP}"}}
`, owned: []Live{stepPod("old", "Running")}}
	s.check(t, "old: excluded", "reader: reader waiting waits for previous(old)[0].status.podIP")
}

func TestPreviousImpliesNoOrder(t *testing.T) {
	p := mustLoad(t, `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  children:
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: "${string(size(previous(b)))}"}}
  - id: b
    readyWhen: "false"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {n: "${string(size(previous(a)))}"}}
`)
	for _, c := range p.Primaries()[0].Rules[0].Children {
		if len(c.gates) > 0 {
			t.Errorf("%s waits for other children", c.ID)
		}
	}
}

func TestMistakesInPrevious(t *testing.T) {
	const rules = `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  lookups:
  - {id: looked, apiVersion: v1, kind: ConfigMap, selector: {}}
  children:
  - id: pods
    forEach: {n: '["a"]'}
    template: {apiVersion: v1, kind: Pod, metadata: {name: "${n}"}}
  status:
    a: ${previous(looked)}
    b: ${previous(podz)}
    c: ${previous(self.spec)}
    d: ${previous()}
    e: ${previous.pods}
    f: ${self.spec.l.map(pods, previous(n))}
`
	var got []string
	for line := range strings.Lines(report(t, rulesFile(rules))) {
		if at, message, ok := strings.Cut(line, ": status."); ok {
			got = append(got, at[strings.LastIndex(at, "yaml:")+5:]+" "+strings.TrimSpace(message))
		}
	}
	want := []string{
		`13:19: error: rule "r" a: previous() takes the id of a child`,
		`14:19: error: rule "r" b: previous() takes the id of a child (did you mean 'pods'?)`,
		`15:23: error: rule "r" c: previous() takes the id of a child`,
		`16:18: error: rule "r" d: previous() does not take these arguments (write previous(id) for a child)`,
		`17:10: error: rule "r" e: undeclared name 'previous' (write previous(id) with the id of a child)`,
		`18:41: error: rule "r" f: previous() takes the id of a child`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPreviousCannotSelect(t *testing.T) {
	got := report(t, rulesFile(`
- name: r
  for: {apiVersion: example.com/v1, kind: Primary, when: free}
  let: {free: size(previous(pods)) == 0}
  children:
  - id: pods
    onChange: keep
    template: {apiVersion: v1, kind: Pod, metadata: {name: p}}
`))
	if want := `for.when: let "free" reads the child "previous(pods)": for.when may read only self, and lets that read nothing else`; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A lookup may be named by the objects of a child that reads the lookup.
func TestPreviousInLookups(t *testing.T) {
	s := scene{rule: `
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "settings-${string(size(previous(pod)))}"}
  children:
  - id: pod
    onChange: keep
    template: {apiVersion: v1, kind: Pod, metadata: {name: "${settings.data.name}"}}
`, owned: []Live{stepPod("a", "")}, lookup: map[string][]object{"ConfigMap": {{"metadata": object{"name": "settings-1"}, "data": object{"name": "a"}}}}}
	s.check(t, "pod: a")
}
