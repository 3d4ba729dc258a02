package kstatus

import "fmt"

// A status holds the parts of a live object that its readiness depends on.
type status struct {
	metadata, specMap, status map[string]any
	conditions                []any
}

func statusOf(object map[string]any) status {
	var o status
	o.metadata, _ = object["metadata"].(map[string]any)
	o.specMap, _ = object["spec"].(map[string]any)
	o.status, _ = object["status"].(map[string]any)
	o.conditions, _ = o.status["conditions"].([]any)
	return o
}

// observed reports whether the controller of the object has observed its last change, as far as the status tells. The
// generations of conditions count if the status as a whole has none, and the newest of them decides: a controller may
// renew only those that change.
func (o status) observed() bool {
	generation, known := o.numberIn(o.metadata, "generation")
	if !known {
		return true
	}
	if seen, ok := o.numberIn(o.status, "observedGeneration"); ok {
		return seen == generation
	}
	newest := int64(-1)
	for _, name := range [...]string{"Stalled", "Reconciling", "Ready", "Available"} {
		if seen, ok := o.numberIn(o.condition(name).fields, "observedGeneration"); ok {
			newest = max(newest, seen)
		}
	}
	return newest < 0 || newest >= generation
}

// A condition is one of an object's conditions.
type condition struct {
	name   string
	state  string         // its status, or "" if the object does not have it
	fields map[string]any // nil if the object does not have it
}

func (o status) condition(name string) condition {
	for _, item := range o.conditions {
		if c, _ := item.(map[string]any); c["type"] == name {
			state, _ := c["status"].(string)
			return condition{name, state, c}
		}
	}
	return condition{name: name}
}

// message returns the message of the condition, or the best substitute for one.
func (c condition) message() string {
	if c.fields == nil {
		return "condition " + c.name + " is not there yet"
	}
	for _, field := range [...]string{"message", "reason"} {
		if text, _ := c.fields[field].(string); text != "" {
			return text
		}
	}
	return c.name + " is " + c.state
}

// readyUnless returns Progressing if the object has the condition and it is not True,
// and Ready otherwise.
func (o status) readyUnless(name string) (Readiness, string) {
	if c := o.condition(name); c.state != "" && c.state != "True" {
		return Progressing, c.message()
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
