package expr

import (
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema"
)

// A mergedType says how the values of a type are merged. It is nil for what is replaced as a whole, or is not known.
type mergedType struct {
	atomic   bool // a map that is replaced as a whole
	fields   map[string]*mergedType
	each     *mergedType // the entries of a map or the elements of a list
	isList   bool        // its elements have an identity
	keys     []string    // the fields of an element that identify it; none: the element itself
	defaults []ref.Val   // of the keys; nil: none
}

func (t *mergedType) isAtomic() bool { return t != nil && t.atomic }

// below returns the type of a field of an object, or of an entry of a map.
func (t *mergedType) below(name string) *mergedType {
	if t == nil {
		return nil
	}
	if f, known := t.fields[name]; known {
		return f
	}
	return t.each
}

// mergedTypes are by the names that schema.TypeReference knows.
var mergedTypes sync.Map

// mergedTypeOf returns a type of Kubernetes, or nil for an unknown one.
func mergedTypeOf(name string) *mergedType {
	if t, known := mergedTypes.Load(name); known {
		return t.(*mergedType)
	}
	of := schema.TypeReference(name)
	if of == nil {
		return nil
	}
	t, _ := mergedTypes.LoadOrStore(name, typesReader{}.read(of))
	return t.(*mergedType)
}

// A typesReader has the definitions that it has read, or is reading.
type typesReader map[string]*mergedType

func (r typesReader) read(at *spec.Schema) *mergedType {
	set := schema.Builtin()
	name, of := schema.Reference(at), set.Resolve(at)
	if of == nil {
		return nil
	}
	atomic := set.IsAtomicMap(at)
	if t := r[name]; t != nil && t.atomic == atomic {
		return t
	}
	t := &mergedType{atomic: atomic}
	if name != "" {
		r[name] = t
	}
	switch extra := of.AdditionalProperties; {
	case atomic:
	case of.Items != nil && of.Items.Schema != nil:
		how, keys := schema.MergedBy(of)
		if how != "map" && how != "set" {
			return nil
		}
		t.isList, t.keys, t.each = true, keys, r.read(of.Items.Schema)
		item := set.Resolve(of.Items.Schema)
		for _, key := range keys {
			t.defaults = append(t.defaults, defaultOf(item, key))
		}
	case len(of.Properties) > 0:
		t.fields = map[string]*mergedType{}
		for field, p := range of.Properties {
			if inside := r.read(&p); inside != nil {
				t.fields[field] = inside
			}
		}
	case extra != nil && extra.Schema != nil:
		t.each = r.read(extra.Schema)
	default:
		return nil
	}
	return t
}

// defaultOf returns the value that the API server fills in for a field, or nil. An empty text only says that Go has no
// absent ones.
func defaultOf(item *spec.Schema, key string) ref.Val {
	if item == nil {
		return nil
	}
	if text, is := item.Properties[key].Default.(string); is && text != "" {
		return types.String(text)
	}
	return nil
}
