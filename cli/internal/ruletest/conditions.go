package ruletest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules/source"
)

// A status expects fields of the primary's status.
type status struct {
	pos  source.Pos
	want map[string]any
}

func (e status) check(p *player) []Failure {
	primary, failures := p.primary(e.pos, "status")
	if primary == nil {
		return failures
	}
	got, _, _ := unstructured.NestedMap(primary.Object, "status")
	diff := diffFields(e.want, got)
	if diff == "" {
		return nil
	}
	why := ""
	for name, value := range e.want {
		if _, there := got[name]; !there && value != nil {
			why = " (a field is omitted while its expression waits for something; -v lists expressions that never ran)"
		}
	}
	return diffAt(e.pos, diff, "status of %s differs from what is expected%s", titleOf(primary), why)
}

// A condition expects a condition of the primary.
type condition struct {
	pos  source.Pos
	kind string
	want map[string]any // nil: the condition does not exist
}

func (r *reader) condition(f *source.Field) condition {
	c := condition{pos: f.Key.Pos, kind: f.Key.Value}
	switch f.Value.Kind {
	case source.Null:
		return c
	case source.Map:
		c.want = f.Value.Plain().(map[string]any)
	default:
		c.want = map[string]any{"status": f.Value.Plain()}
	}
	switch s := c.want["status"].(type) {
	case bool: // An unquoted True is a boolean in YAML.
		c.want["status"] = map[bool]string{true: "True", false: "False"}[s]
	case string:
		if s != "True" && s != "False" && s != "Unknown" {
			r.complain(f.Value.Pos, "", "conditions.%s: expected True, False or Unknown, got %q", c.kind, s)
		}
	}
	return c
}

func (e condition) check(p *player) []Failure {
	primary, failures := p.primary(e.pos, "conditions")
	if primary == nil {
		return failures
	}
	got := conditionOf(primary, e.kind)
	switch {
	case got == nil && e.want == nil:
		return nil
	case got == nil:
		return failureAt(e.pos, "%s has no condition %s", titleOf(primary), e.kind)
	case e.want == nil:
		return failureAt(e.pos, "%s has a condition %s: it is %v", titleOf(primary), e.kind, got["status"])
	}
	part, _ := e.want["message"].(string)
	if message, _ := got["message"].(string); part != "" && strings.Contains(message, part) {
		got["message"] = part
	}
	diff := diffFields(e.want, got)
	if diff == "" {
		return nil
	}
	actual := strings.TrimSuffix(fmt.Sprintf("%v, %v: %v", got["status"], got["reason"], got["message"]), ": ")
	return diffAt(e.pos, diff, "condition %s of %s differs from what is expected: %s", e.kind, titleOf(primary), actual)
}

// conditionOf returns a copy of a condition, or nil.
func conditionOf(u *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			return condition
		}
	}
	return nil
}
