package schema

import (
	"encoding/json"
	"maps"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A Structure is the part of a custom kind's schema that decides which fields the API
// server keeps and which defaults it sets. The zero Structure keeps everything.
type Structure struct {
	set  *Set
	root *spec.Schema
}

// Structure returns the structure of a kind's objects.
func (s *Set) Structure(k *Kind) Structure {
	root := s.Schema(k.GVK)
	if root == nil {
		return Structure{}
	}
	body := *root
	body.Properties = maps.Clone(root.Properties)
	for name := range commonFields {
		delete(body.Properties, name)
	}
	body.Extensions = maps.Clone(root.Extensions)
	body.AddExtension(embeddedResource, true)
	return Structure{set: s, root: &body}
}

// Prune removes the fields that the schema does not have, and then each null that is
// neither nullable nor defaulted, as the API server does when it reads an object. It
// returns the unknown fields.
func (t Structure) Prune(object map[string]any) (pruned []UnknownField) {
	if t.root == nil {
		return nil
	}
	w := walk{set: t.set, unknown: func(_ *spec.Schema, in map[string]any, f UnknownField) {
		delete(in, f.Name)
		pruned = append(pruned, f)
	}}
	w.visit("", t.root, object)
	pruneNulls(t.root, object)
	return pruned
}

// Default sets the defaults of fields that are absent, or null and not nullable.
func (t Structure) Default(object map[string]any) {
	if t.root != nil {
		setDefaults(t.root, object)
	}
}

// noNull reports whether a value is a null that its schema does not allow.
func noNull(value any, s *spec.Schema) bool { return value == nil && s != nil && !s.Nullable }

func pruneNulls(at *spec.Schema, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			f, _ := fieldOf(at, name)
			if noNull(v, f) && f.Default == nil {
				delete(value, name)
			} else {
				pruneNulls(f, v)
			}
		}
	case []any:
		for _, v := range value {
			pruneNulls(itemOf(at), v)
		}
	}
}

func setDefaults(at *spec.Schema, value any) {
	if at == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, p := range at.Properties {
			if _, given := value[name]; !given && p.Default != nil {
				value[name] = copyDefault(&p)
			}
		}
		for name, v := range value {
			f, _ := fieldOf(at, name)
			if noNull(v, f) {
				value[name] = copyDefault(f)
			}
			setDefaults(f, value[name])
		}
	case []any:
		items := itemOf(at)
		for i := range value {
			if noNull(value[i], items) {
				value[i] = copyDefault(items)
			}
			setDefaults(items, value[i])
		}
	}
}

// copyDefault returns a copy of a default in which whole numbers are integers. The
// decoder of schemas makes floating-point numbers of them.
func copyDefault(s *spec.Schema) any {
	data, err := json.Marshal(s.Default)
	if err != nil {
		return s.Default
	}
	var out any
	if utiljson.Unmarshal(data, &out) != nil {
		return s.Default
	}
	return out
}

// The keys of a schema that say how server-side apply merges lists and maps.
const (
	listType    = "x-kubernetes-list-type"
	listMapKeys = "x-kubernetes-list-map-keys"
	mapType     = "x-kubernetes-map-type"
)

// MergedBy returns how server-side apply merges a list: "map" by the keys of its elements,
// "set" by the elements themselves, and otherwise not at all.
func MergedBy(list *spec.Schema) (how string, keys []string) {
	how, _ = list.Extensions.GetString(listType)
	keys, _ = list.Extensions.GetStringSlice(listMapKeys)
	return how, keys
}

// IsAtomicMap reports whether server-side apply replaces an object or a map as a whole. A schema that refers to a
// definition can say so, or that it does not, itself.
func (s *Set) IsAtomicMap(at *spec.Schema) bool {
	how, said := at.Extensions.GetString(mapType)
	if of := s.Resolve(at); !said && of != nil {
		how, _ = of.Extensions.GetString(mapType)
	}
	return how == "atomic"
}
