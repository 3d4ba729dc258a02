package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A structure is the part of a CRD's schema that decides which fields an
// object keeps and what it gets where it says nothing.
type structure struct {
	Properties           map[string]*structure
	AdditionalProperties *anyOther
	Items                *structure
	Default              defaultValue
	Nullable             bool
	Preserve             bool `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded             bool `json:"x-kubernetes-embedded-resource"`
}

// defaultValue keeps whole numbers whole, as Kubernetes does.
type defaultValue struct{ value any }

// UnmarshalJSON reads the value.
func (d *defaultValue) UnmarshalJSON(data []byte) error { return utiljson.Unmarshal(data, &d.value) }

// anyOther is additionalProperties: a schema, or a boolean.
type anyOther struct{ *structure }

// UnmarshalJSON reads a schema. True keeps everything, and false nothing.
func (o *anyOther) UnmarshalJSON(data []byte) error {
	var all bool
	if json.Unmarshal(data, &all) == nil {
		if all {
			o.structure = &structure{Preserve: true, Nullable: true}
		}
		return nil
	}
	o.structure = &structure{}
	return json.Unmarshal(data, o.structure)
}

// asRoot returns the structure of a whole object. What every object has stands
// in no schema; without a schema, nothing is dropped.
func (s *structure) asRoot() *structure {
	if s == nil {
		return &structure{Preserve: true}
	}
	root := *s
	root.Embedded = true
	return &root
}

// field returns the structure of a field, or nil if there is none of its name.
func (s *structure) field(name string) *structure {
	if s.Embedded && (name == "apiVersion" || name == "kind" || name == "metadata") {
		return &structure{Preserve: true, Nullable: true}
	}
	if f := s.Properties[name]; f != nil {
		return f
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.structure
	}
	return nil
}

// prune drops the fields that the schema does not know and returns their
// paths, in order.
func (s *structure) prune(value any, path string) (dropped []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := join(path, name)
			if f := s.field(name); f != nil {
				dropped = append(dropped, f.prune(value[name], at)...)
			} else if !s.Preserve {
				delete(value, name)
				dropped = append(dropped, at+meant(name, slices.Collect(maps.Keys(s.Properties))))
			}
		}
	case []any:
		if s.Items == nil {
			return nil
		}
		for i := range value {
			dropped = append(dropped, s.Items.prune(value[i], path+"["+strconv.Itoa(i)+"]")...)
		}
	}
	return dropped
}

// fill sets the defaults of absent fields, and of null ones that may not be
// null. Such a null without a default goes, as if it had not been written.
func (s *structure) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if f := s.field(name); v == nil && f != nil && !f.Nullable {
				delete(value, name)
			}
		}
		for name, f := range s.Properties {
			if _, found := value[name]; !found && f.Default.value != nil {
				value[name] = runtime.DeepCopyJSONValue(f.Default.value)
			}
		}
		for name, v := range value {
			if f := s.field(name); f != nil {
				f.fill(v)
			}
		}
	case []any:
		if s.Items == nil {
			return
		}
		for i := range value {
			s.Items.fill(value[i])
		}
	}
}

// join appends a field to a path as people write it.
func join(path, name string) string {
	switch {
	case !plain(name):
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}

func plain(name string) bool {
	for _, r := range name {
		if r != '_' && r != '-' && ('0' > r || r > '9') && ('a' > r || r > 'z') && ('A' > r || r > 'Z') {
			return false
		}
	}
	return name != ""
}
