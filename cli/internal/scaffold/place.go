package scaffold

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
