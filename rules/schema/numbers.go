package schema

import (
	"maps"
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// JSON does not tell 4 from 4.0: the API server stores both as 4. Only the schema says that a field holds
// decimal numbers, even where a value is whole.

// Numbers are the fields of the type number in a value. nil has none.
type Numbers struct {
	// Is says that the value itself is a number.
	Is bool
	// Fields are those of a map that have numbers.
	Fields map[string]*Numbers
	// Each is about every other entry of a map, and every element of a list.
	Each *Numbers
}

// NumberFields are the number fields of kinds. Kinds without any are not in it.
type NumberFields map[runtimeschema.GroupVersionKind]*Numbers

// NumberFields returns the number fields of some kinds.
func (s *Set) NumberFields(kinds map[runtimeschema.GroupVersionKind]bool) NumberFields {
	return NumberFields(nil).With(s, kinds)
}

// With returns the number fields of some kinds by a set, besides what is known already: of other kinds, and of kinds
// without a schema in the set.
func (known NumberFields) With(s *Set, kinds map[runtimeschema.GroupVersionKind]bool) NumberFields {
	all := maps.Clone(known)
	for gvk := range kinds {
		root := s.Schema(gvk)
		if root == nil {
			continue
		}
		delete(all, gvk)
		if n := s.numbers(root, nil); n != nil {
			if all == nil {
				all = NumberFields{}
			}
			all[gvk] = n
		}
	}
	return all
}

// numbers returns the number fields of a schema, or nil. within are the definitions around it: one that refers to
// itself is not followed.
func (s *Set) numbers(at *spec.Schema, within []string) *Numbers {
	if name := Reference(at); name != "" {
		if Own(name) { // Kubernetes' conventions forbid floating-point numbers.
			return nil
		}
		if slices.Contains(within, name) {
			return nil
		}
		within = append(within[:len(within):len(within)], name)
	}
	if at = s.Resolve(at); at == nil {
		return nil
	}
	n := &Numbers{Is: isNumber(at)}
	for name, p := range at.Properties {
		if f := s.numbers(&p, within); f != nil {
			if n.Fields == nil {
				n.Fields = map[string]*Numbers{}
			}
			n.Fields[name] = f
		}
	}
	switch {
	case at.Items != nil && at.Items.Schema != nil:
		n.Each = s.numbers(at.Items.Schema, within)
	case at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil:
		n.Each = s.numbers(at.AdditionalProperties.Schema, within)
	}
	if !n.Is && n.Fields == nil && n.Each == nil {
		return nil
	}
	return n
}

// isNumber reports whether the values of a schema are decimal numbers.
func isNumber(s *spec.Schema) bool {
	return len(s.Type) == 1 && s.Type[0] == "number" && !hasExtension(s, "x-kubernetes-int-or-string")
}

// mostExact is the largest whole number up to which a double has every one.
const mostExact = 1 << 53

// Of returns a decoded object in which the number fields hold doubles. It copies the maps and lists around a whole
// number, and shares the rest. A whole number that a double may not hold exactly stays as it is.
func (n *Numbers) Of(object map[string]any) map[string]any {
	if n == nil {
		return object
	}
	out, _ := n.convertMap(object)
	return out
}

// convert also reports whether the value has changed.
func (n *Numbers) convert(value any) (any, bool) {
	switch v := value.(type) {
	case int64:
		if n.Is && -mostExact <= v && v <= mostExact {
			return float64(v), true
		}
	case map[string]any:
		return n.convertMap(v)
	case []any:
		if out, changed := n.convertList(v); changed {
			return out, true
		}
	}
	return value, false
}

func (n *Numbers) convertMap(in map[string]any) (map[string]any, bool) {
	out, changed := in, false
	set := func(name string, f *Numbers) {
		value, converted := f.convert(in[name])
		if !converted {
			return
		}
		if !changed {
			out, changed = maps.Clone(in), true
		}
		out[name] = value
	}
	for name, f := range n.Fields {
		set(name, f)
	}
	if n.Each != nil {
		for name := range in {
			if n.Fields[name] == nil {
				set(name, n.Each)
			}
		}
	}
	return out, changed
}

func (n *Numbers) convertList(in []any) ([]any, bool) {
	if n.Each == nil {
		return in, false
	}
	out, changed := in, false
	for i, item := range in {
		value, converted := n.Each.convert(item)
		if !converted {
			continue
		}
		if !changed {
			out, changed = slices.Clone(in), true
		}
		out[i] = value
	}
	return out, changed
}
