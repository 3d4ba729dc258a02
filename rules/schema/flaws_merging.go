package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// merging finds lists and maps that server-side apply could not merge.
func (f *flaws) merging(path string, s map[string]any) {
	f.mergeType(path, mapType, s, "object", "atomic", "granular")
	f.mergeType(path, listType, s, "array", "atomic", "set", "map")
	keys, _ := s[listMapKeys].([]any)
	items, _ := s["items"].(map[string]any)
	switch {
	case s[listType] == "map" && len(keys) == 0:
		f.add(path, "has no %s, which a list of the type map needs", listMapKeys)
	case s[listType] == "map":
		f.mapKeys(path, keys, items)
	case len(keys) > 0:
		f.add(path+"."+listMapKeys, "needs %s: map", listType)
	}
	if s[listType] != "set" && s[listType] != "map" {
		return
	}
	if items["nullable"] == true {
		f.add(path+".items.nullable", "is not allowed in a list of the type %s", s[listType])
	}
	if s[listType] == "set" && items["type"] == "object" && items[mapType] != "atomic" {
		f.add(path+"."+listType, "a set has no maps as elements: write map and %s", listMapKeys)
	}
	if inner, given := items[listType]; s[listType] == "set" && given && inner != "atomic" {
		f.add(path+".items."+listType, "must be atomic in a set")
	}
}

// mergeType checks the value of a key that belongs to one type of a schema.
func (f *flaws) mergeType(path, key string, s map[string]any, belongs string, allowed ...string) {
	v, given := s[key]
	if !given {
		return
	}
	if text, _ := v.(string); !slices.Contains(allowed, text) {
		f.add(path+"."+key, "%q is not one of %s", fmt.Sprint(v), strings.Join(allowed, ", "))
	}
	if s["type"] != belongs {
		f.add(path+"."+key, "needs type: %s", belongs)
	}
}

// mapKeys checks the keys by which a list is merged.
func (f *flaws) mapKeys(path string, keys []any, items map[string]any) {
	if items["type"] != "object" {
		f.add(path+"."+listType, "a list of the type map has maps as elements: write items: {type: object}")
		return
	}
	properties, _ := items["properties"].(map[string]any)
	required, _ := items["required"].([]any)
	for i, k := range keys {
		at := fmt.Sprintf("%s.%s[%d]", path, listMapKeys, i)
		key, _ := k.(string)
		p, known := properties[key].(map[string]any)
		switch _, defaulted := p["default"]; {
		case !known:
			f.add(at, "the elements have no property %q", key)
		case slices.Contains(keys[:i], k):
			f.add(at, "%s is there twice", key)
		case p["type"] == "object" || p["type"] == "array":
			f.add(at, "%s must be a text, a number or a boolean", key)
		case !defaulted && !slices.Contains(required, k):
			f.add(at, "%s must be required, or have a default", key)
		case p["nullable"] == true:
			f.add(at, "%s must not be nullable", key)
		}
	}
}

// conditional are the keys under which a schema restricts values and defines nothing.
var conditional = []string{"allOf", "anyOf", "oneOf", "not"}

// defining are the keys that a schema under them must not have.
var defining = []string{"type", "additionalProperties", "default", "title", "description", "nullable", preserveUnknown,
	embeddedResource,
	"x-kubernetes-int-or-string", listType, listMapKeys, mapType, "x-kubernetes-validations"}

// conditions finds schemas under allOf and the like that define something: the API server
// calls such a schema not structural.
func (f *flaws) conditions(path string, s map[string]any) {
	for _, key := range conditional {
		if key == "anyOf" && isIntOrString(s[key]) {
			continue
		}
		if one, ok := s[key].(map[string]any); ok {
			f.condition(path+"."+key, one)
		}
		several, _ := s[key].([]any)
		for i, v := range several {
			if one, ok := v.(map[string]any); ok {
				f.condition(fmt.Sprintf("%s.%s[%d]", path, key, i), one)
			}
		}
	}
}

func (f *flaws) condition(path string, s map[string]any) {
	for _, key := range defining {
		if isSet(s[key]) {
			f.add(path+"."+key, "is not allowed under allOf, anyOf, oneOf and not: write it outside of them")
		}
	}
	f.conditions(path, s)
	properties, _ := s["properties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		if p, ok := properties[key].(map[string]any); ok {
			f.condition(joinPath(path+".properties", key), p)
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		f.condition(path+".items", items)
	}
}

// isIntOrString reports whether anyOf allows integers and texts, the only types that may
// stand there.
func isIntOrString(anyOf any) bool {
	list, _ := anyOf.([]any)
	if len(list) != 2 {
		return false
	}
	first, _ := list[0].(map[string]any)
	second, _ := list[1].(map[string]any)
	return len(first) == 1 && len(second) == 1 && first["type"] == "integer" && second["type"] == "string"
}
