package kstatus

import "fmt"

// A status holds the parts of a live object that its readiness depends on.
type status struct {
	metadata, specMap, status map[string]any
	conditions                []map[string]any
}

func statusOf(object map[string]any) status {
	var o status
	o.metadata, _ = object["metadata"].(map[string]any)
	o.specMap, _ = object["spec"].(map[string]any)
	o.status, _ = object["status"].(map[string]any)
	list, _ := o.status["conditions"].([]any)
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			o.conditions = append(o.conditions, c)
		}
	}
	return o
}

// condition returns a condition's status, "" if there is none, and what it
// says.
func (o status) condition(name string) (state, message string) {
	for _, c := range o.conditions {
		if c["type"] != name {
			continue
		}
		state, _ = c["status"].(string)
		if message, _ = c["message"].(string); message == "" {
			if message, _ = c["reason"].(string); message == "" {
				message = name + " is " + state
			}
		}
		return state, message
	}
	return "", "condition " + name + " is not there yet"
}

// unless returns Ready if there is no such condition that says otherwise.
func (o status) unless(name string) (Readiness, string) {
	if state, message := o.condition(name); state != "" && state != "True" {
		return Progressing, message
	}
	return Ready, ""
}

// number reads a whole number.
func (o status) number(m map[string]any, field string) (int64, bool) {
	switch n := m[field].(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	case int:
		return int64(n), true
	}
	return 0, false
}

// count reads a number of the status; Kubernetes leaves zeros out.
func (o status) count(field string) int64 {
	n, _ := o.number(o.status, field)
	return n
}

// spec reads a number of the spec that has a default.
func (o status) spec(field string, otherwise int64) int64 {
	if n, ok := o.number(o.specMap, field); ok {
		return n
	}
	return otherwise
}

// of says that n of want are something.
func of(n, want int64, word string) (Readiness, string) {
	return Progressing, fmt.Sprintf("%d of %d %s", n, want, word)
}
