package scaffold

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim"
)

// A place is a value in an object.
type place struct {
	path  string
	value any
	set   func(any)
}

// each visits the values at a pattern: keys joined with dots, in which * stands for every
// entry of a map or list.
func each(in any, pattern string, visit func(place)) {
	walk(place{value: in}, strings.Split(pattern, "."), visit)
}

func walk(at place, pattern []string, visit func(place)) {
	if len(pattern) == 0 {
		visit(at)
		return
	}
	for _, below := range at.below() {
		if pattern[0] == "*" || below.key == pattern[0] {
			walk(below.place, pattern[1:], visit)
		}
	}
}

// everywhere visits all values with their keys, outer ones first.
func everywhere(at place, visit func(key string, p place)) {
	for _, below := range at.below() {
		visit(below.key, below.place)
		everywhere(below.place, visit)
	}
}

// An element is a value in a map or list. The key of an element of a list is empty.
type element struct {
	place
	key string
}

func (p place) below() (all []element) {
	switch container := p.value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(container)) {
			all = append(all, element{place{p.path + step(key), container[key], func(v any) { container[key] = v }}, key})
		}
		if p.path == "" {
			for i := range all {
				all[i].path = strings.TrimPrefix(all[i].path, ".")
			}
		}
	case []any:
		for i, item := range container {
			all = append(all, element{place: place{fmt.Sprintf("%s[%d]", p.path, i), item, func(v any) { container[i] = v }}})
		}
	}
	return all
}

// step writes a key in a path.
func step(key string) string {
	if strings.ContainsAny(key, ".[]/") {
		return fmt.Sprintf("[%q]", key)
	}
	return "." + key
}

// textAt returns the text at a path of keys, or "".
func textAt(in map[string]any, keys ...string) string {
	text, _ := valueAt(in, keys...).(string)
	return text
}

func valueAt(in any, keys ...string) any {
	for _, key := range keys {
		m, _ := in.(map[string]any)
		in = m[key]
	}
	return in
}

// remove deletes the entry at a pattern if its value is one that drop accepts, and the
// maps that are empty without it.
func remove(in any, pattern string, drop func(value any) bool) {
	removeAt(in, strings.Split(pattern, "."), drop)
}

func removeAt(in any, pattern []string, drop func(value any) bool) {
	switch container := in.(type) {
	case map[string]any:
		for key, value := range container {
			switch {
			case pattern[0] != "*" && pattern[0] != key:
			case len(pattern) == 1:
				if drop(value) {
					delete(container, key)
				}
			default:
				before := size(value)
				removeAt(value, pattern[1:], drop)
				if before > 0 && size(value) == 0 {
					delete(container, key)
				}
			}
		}
	case []any:
		for _, item := range container {
			if pattern[0] == "*" && len(pattern) > 1 {
				removeAt(item, pattern[1:], drop)
			}
		}
	}
}

func size(v any) int {
	m, _ := v.(map[string]any)
	return len(m)
}

// An object is one of the manifests on its way to a child.
type object struct {
	gvk             schema.GroupVersionKind
	name, namespace string         // "" is the namespace of the resource
	component       string         // what it is within the application; "" is the application itself
	id              string         // of the child
	constant        bool           // the name is the same for every resource
	checksums       []string       // annotations with the checksum of a configuration
	given           map[string]any // what the child has to render
	template        map[string]any // texts may be expressions
}

// An expression is a text of a template that is written as rules have it, with ${...}.
type expression string

func newObject(u *unstructured.Unstructured, kinds *sim.Kinds) *object {
	given := cleaned(u, kinds)
	checksums := withoutHelm(given)
	withoutEmptyMetadata(given)
	return &object{
		checksums: checksums,
		gvk:       u.GroupVersionKind(),
		name:      u.GetName(),
		namespace: u.GetNamespace(),
		given:     given,
		template:  runtime.DeepCopyJSON(given),
	}
}

// String names the object in messages and comments.
func (o *object) String() string { return o.gvk.Kind + "/" + o.name }

// podPath returns the path of the Pod in a kind that has one, with a dot at its end.
func podPath(gk schema.GroupKind) (path string, found bool) {
	switch gk.Kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job":
		return "spec.template.spec.", true
	case "CronJob":
		return "spec.jobTemplate.spec.template.spec.", true
	case "Pod":
		return "spec.", true
	}
	return "", false
}

// containers are the lists of containers in a Pod.
var containers = []string{"initContainers", "containers"}

// camel joins the words of a name: redis-leader becomes redisLeader.
func camel(name string) string {
	var b strings.Builder
	for i, word := range strings.FieldsFunc(name,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if i > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// lowerCamel returns a kind as an id: APIService becomes apiService.
func lowerCamel(kind string) string {
	upper := 0
	for upper < len(kind) && unicode.IsUpper(rune(kind[upper])) {
		upper++
	}
	if upper > 1 && upper < len(kind) {
		upper--
	}
	return strings.ToLower(kind[:upper]) + kind[upper:]
}
