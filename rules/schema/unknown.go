package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// An UnknownField is a field that a kind does not have.
type UnknownField struct {
	Path string   // like spec.ports[0].prot
	Name string   // the last part of it
	Have []string // the fields that its parent has, sorted
}

// Unknown returns the fields of an object, or of a part of one, that its kind does not
// have, sorted by path. It returns none for a kind without a schema.
func (s *Set) Unknown(k *Kind, object map[string]any) (found []UnknownField) {
	w := walk{set: s, unknown: func(at *spec.Schema, _ map[string]any, f UnknownField) {
		if !at.Type.Contains("object") {
			return // It is a value of the wrong type, not an unknown field.
		}
		if strings.HasPrefix(f.Path, "metadata.managedFields[") {
			return // The fields of an entry are JSON, also for custom kinds.
		}
		if len(at.Properties) == 0 && !k.Custom {
			return // Kubernetes' own objects without fields hold JSON.
		}
		found = append(found, f)
	}}
	w.visit("", s.Schema(k.GVK), object)
	return found
}

// A walk visits a value together with its schema.
type walk struct {
	set *Set
	// unknown is called for each unknown field.
	unknown func(at *spec.Schema, in map[string]any, f UnknownField)
}

func (w walk) visit(path string, at *spec.Schema, value any) {
	if at = w.set.Resolve(at); at == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			f, known := fieldOf(at, name)
			below := joinPath(path, name)
			switch {
			case known:
				w.visit(below, f, value[name])
			case !hasExtension(at, preserveUnknown):
				w.unknown(at, value, UnknownField{below, name, slices.Sorted(maps.Keys(at.Properties))})
			}
		}
	case []any:
		for i := range value {
			w.visit(fmt.Sprintf("%s[%d]", path, i), itemOf(at), value[i])
		}
	}
}

const (
	preserveUnknown  = "x-kubernetes-preserve-unknown-fields"
	embeddedResource = "x-kubernetes-embedded-resource"
	intOrString      = "x-kubernetes-int-or-string"
)

func hasExtension(s *spec.Schema, name string) bool {
	yes, _ := s.Extensions.GetBool(name)
	return yes
}

// commonFields are the fields that every object has.
var commonFields = map[string]bool{"apiVersion": true, "kind": true, "metadata": true}

// fieldless is the schema of a value that may be anything but has no fields.
var fieldless = &spec.Schema{SchemaProps: spec.SchemaProps{Nullable: true}}

// fieldOf returns the schema of a field, nil if it allows anything, and whether the
// parent has such a field.
func fieldOf(at *spec.Schema, name string) (field *spec.Schema, known bool) {
	if at == nil || commonFields[name] && hasExtension(at, embeddedResource) {
		return nil, true
	}
	if p, ok := at.Properties[name]; ok {
		return &p, true
	}
	switch extra := at.AdditionalProperties; {
	case extra == nil:
		return nil, false
	case extra.Schema == nil: // additionalProperties: true keeps the fields, and nothing below them.
		return fieldless, extra.Allows
	default:
		return extra.Schema, true
	}
}

// itemOf returns the schema of the elements of a list, nil if it allows anything.
func itemOf(at *spec.Schema) *spec.Schema {
	switch {
	case at == nil || hasExtension(at, preserveUnknown):
		return nil
	case at.Items == nil || at.Items.Schema == nil:
		return fieldless
	}
	return at.Items.Schema
}

var plainName = regexp.MustCompile(`^[-\w]+$`)

// joinPath appends a field to a path as people write it.
func joinPath(path, name string) string {
	switch {
	case !plainName.MatchString(name):
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}
