package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLookupOfUnwatchedKind has a kind without data yet, which is neither an empty list
// nor an error of the rule.
func TestLookupOfUnwatchedKind(t *testing.T) {
	p := mustLoad(t, `- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  lookups:
  - {id: pods, apiVersion: v1, kind: Pod, selector: {}}
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: settings}
  validate:
  - {expression: size(pods) > 0, message: no pods}
  children:
  - id: a
    when: size(pods) > 0
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {color: "${settings.data.color}"}}
  status: {pods: "${size(pods)}", any: "${pods[?0].hasValue()}", first: "${has(pods[0].metadata)}", said: "yes"}
  conditions:
  - {type: Served, when: size(pods) > 0}
`)
	var out Rendering
	p.Primaries()[0].Render(Input{
		Self:     object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u1"}},
		Observed: cluster{}.observed,
		Lookup:   func(*Lookup, Query) ([]map[string]any, error) { return nil, ErrUnwatched },
	}, &out)
	r := &out.Rules[0]
	got := objects(r)
	for _, c := range r.Conditions {
		got = append(got, strings.Join([]string{c.Type, string(c.Status), c.Reason, c.Message}, " "))
	}
	want := []string{"a: a waiting waits for pods", "b: b waiting waits for settings.data.color", `status {"said":"yes"}`, "Served Unknown Waiting waits for pods"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.StatusErr != nil {
		t.Errorf("status failed: %v", r.StatusErr)
	}
}
