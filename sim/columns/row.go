package columns

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// row is what the cells of a row are made of.
type row struct {
	*unstructured.Unstructured
	list []*unstructured.Unstructured // All objects of the table; nil if it is not of a list.
	now  time.Time
	pod  *podState // Only if the object is a Pod, and a cell has asked for it.
}

// valuesAt returns the values at a path. It also leads through lists: to the values of all elements.
func valuesAt(v any, path ...string) (found []any) {
	switch typed := v.(type) {
	case nil:
		return nil
	case []any:
		for _, element := range typed {
			found = append(found, valuesAt(element, path...)...)
		}
		return found
	case map[string]any:
		if len(path) > 0 {
			return valuesAt(typed[path[0]], path[1:]...)
		}
	}
	if len(path) > 0 {
		return nil
	}
	return []any{v}
}

// value returns the first value at the first path that has any, or nil.
func (r *row) value(paths ...string) any {
	for _, path := range paths {
		if found := firstAt(r.Object, strings.Split(path, ".")...); found != nil {
			return found
		}
	}
	return nil
}

func firstAt(v any, path ...string) any {
	if found := valuesAt(v, path...); len(found) > 0 {
		return found[0]
	}
	return nil
}

func (r *row) text(paths ...string) string {
	s, _ := r.value(paths...).(string)
	return s
}

func (r *row) number(paths ...string) int64 {
	switch n := r.value(paths...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func (r *row) texts(path string) []string {
	return texts(valuesAt(r.Object, strings.Split(path, ".")...))
}

func texts(values []any) (all []string) {
	for _, v := range values {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// maps returns the objects in the list at a path.
func (r *row) maps(path string) (elements []map[string]any) {
	for _, v := range valuesAt(r.Object, strings.Split(path, ".")...) {
		if element, ok := v.(map[string]any); ok {
			elements = append(elements, element)
		}
	}
	return elements
}

// time returns the time at the first path that has a value, or the zero time.
func (r *row) time(paths ...string) time.Time {
	t, _ := time.Parse(time.RFC3339, r.text(paths...))
	return t
}

// since returns how long ago a time is.
func (r *row) since(t time.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(r.now.Sub(t))
}

// condition returns the status of a condition, or "" if the object does not have it.
func (r *row) condition(kind string) string {
	for _, c := range r.maps("status.conditions") {
		if c["type"] == kind {
			return fmt.Sprint(c["status"])
		}
	}
	return ""
}

// part returns a part of an object as a type of Go, or nil if it does not fit the type.
func part[T any](v any) *T {
	m, ok := v.(map[string]any)
	typed := new(T)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(m, typed) != nil {
		return nil
	}
	return typed
}
