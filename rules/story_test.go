package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline prints the results for the children and the status of a rule.
func outline(r *RuleResult) []string {
	var out []string
	if !r.Matches {
		return []string{"does not match"}
	}
	if r.Err != nil {
		return []string{string(r.Err.Reason) + ": " + r.Err.Message}
	}
	states := [...]string{"rendered", "excluded", "waiting", "failed"}
	ready := [...]string{"progressing", "ready", "stalled"}
	for i := range r.Children {
		d := first(&r.Children[i])
		line := d.Child.ID + " " + states[d.State]
		if d.Err != nil {
			line += " [" + d.Err.Message + "]"
		}
		if len(d.Waits) > 0 {
			line += " waits for " + strings.Join(d.Waits, ", ")
		}
		if d.State == Rendered {
			line += "; " + ready[d.Readiness]
			if d.Reason != "" {
				line += ": " + d.Reason
			}
		}
		out = append(out, line)
	}
	if len(r.Status) > 0 {
		out = append(out, "status "+string(r.Status))
	}
	for _, c := range r.Conditions {
		out = append(out, strings.TrimSpace(strings.Join([]string{"condition", c.Type, string(c.Status), c.Reason, c.Message}, " ")))
	}
	if r.StatusErr != nil {
		out = append(out, "status error "+r.StatusErr.Message)
	}
	return out
}

// story is a rule, a primary, the objects in the cluster, and the expected result.
type story struct {
	name    string
	rule    string // the fields after for:
	spec    object
	status  object
	cluster cluster
	want    []string
}

func (s *story) run(t *testing.T) {
	t.Helper()
	self := object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u1", "labels": object{"tier": "web"}}, "spec": s.spec}
	if s.status != nil {
		self["status"] = s.status
	}
	if s.spec == nil {
		self["spec"] = object{}
	}
	r := one(t, "- name: r\n  for:\n    apiVersion: example.com/v1\n    kind: Primary\n"+strings.TrimPrefix(s.rule, "\n"), self, s.cluster)
	if diff := cmp.Diff(s.want, outline(r)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
