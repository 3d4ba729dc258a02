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

// condition returns the status of a condition, or "", and its message or the best
// substitute for one.
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

// readyUnless returns Progressing if the object has the condition and it is not True,
// and Ready otherwise.
func (o status) readyUnless(name string) (Readiness, string) {
	if state, message := o.condition(name); state != "" && state != "True" {
		return Progressing, message
	}
	return Ready, ""
}

// numberIn reads a whole number.
func (o status) numberIn(m map[string]any, field string) (int64, bool) {
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

// statusCount reads a number of the status, in which Kubernetes omits zeros.
func (o status) statusCount(field string) int64 {
	n, _ := o.numberIn(o.status, field)
	return n
}

// specNumber reads a number of the spec that has a default.
func (o status) specNumber(field string, otherwise int64) int64 {
	if n, ok := o.numberIn(o.specMap, field); ok {
		return n
	}
	return otherwise
}

// progressOf returns Progressing with the number of objects that have reached a state.
func progressOf(n, want int64, word string) (Readiness, string) {
	return Progressing, fmt.Sprintf("%d of %d %s", n, want, word)
}
