package ruletest

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/sim/world"
)

// ruled returns what the controller has set of an object, apart from its status,
// and what the object is called.
func ruled(u *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for _, entry := range u.GetManagedFields() {
		own := entry.Manager == world.Controller || strings.HasPrefix(entry.Manager, world.Controller+"/")
		if !own || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil { // The API server has made it.
			merge(out, ownedMap(fields, u.Object))
		}
	}
	name := &unstructured.Unstructured{Object: out}
	name.SetAPIVersion(u.GetAPIVersion())
	name.SetKind(u.GetKind())
	if u.GetName() != "" {
		name.SetName(u.GetName())
	}
	if u.GetNamespace() != "" {
		name.SetNamespace(u.GetNamespace())
	}
	return out
}

// merge adds the entries of a map to another one.
func merge(into, from map[string]any) {
	for key, value := range from {
		if both, ok := into[key].(map[string]any); ok {
			if more, ok := value.(map[string]any); ok {
				merge(both, more)
				continue
			}
		}
		into[key] = value
	}
}

// owned returns the part of a value that managedFields name: all of it where they
// name nothing in it.
func owned(fields map[string]any, value any) any {
	if len(fields) == 0 {
		return runtime.DeepCopyJSONValue(value)
	}
	switch value := value.(type) {
	case map[string]any:
		return ownedMap(fields, value)
	case []any:
		return ownedList(fields, value)
	}
	return value
}

func ownedMap(fields, value map[string]any) map[string]any {
	out := map[string]any{}
	for name, inside := range fields {
		key, isField := strings.CutPrefix(name, "f:")
		if v, there := value[key]; isField && there {
			sub, _ := inside.(map[string]any)
			out[key] = owned(sub, v)
		}
	}
	return out
}

// ownedList returns the items that managedFields name by their keys, by their
// values or by their places.
func ownedList(fields map[string]any, list []any) []any {
	out := []any{}
	for i, item := range list {
		for name, inside := range fields {
			if itemIs(name, i, item) {
				sub, _ := inside.(map[string]any)
				out = append(out, owned(sub, item))
				break
			}
		}
	}
	return out
}

// itemIs reports whether a name in managedFields is that of an item of a list.
func itemIs(name string, index int, item any) bool {
	kind, text, _ := strings.Cut(name, ":")
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return false
	}
	switch kind {
	case "k":
		keys, _ := want.(map[string]any)
		fields, _ := item.(map[string]any)
		for key, value := range keys {
			// A key that is absent has its default.
			if there, ok := fields[key]; ok && !reflect.DeepEqual(number(value), number(there)) {
				return false
			}
		}
		return true
	case "v":
		return reflect.DeepEqual(number(want), number(item))
	case "i":
		return reflect.DeepEqual(number(want), int64(index))
	}
	return false
}
