package managedfields

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// A Set is a set of fields of an object, or of a value inside an object.
type Set struct {
	fields *fieldpath.Set // nil: the whole value, or nothing
}

// Empty reports whether the set names no fields.
func (s Set) Empty() bool { return s.fields == nil || s.fields.Empty() }

// at returns the part of the set below an element, and whether the set has the
// element or anything below it.
func (s Set) at(e fieldpath.PathElement) (Set, bool) {
	if s.fields == nil {
		return Set{}, false
	}
	below, found := s.fields.Children.Get(e)
	return Set{below}, found || s.fields.Members.Has(e)
}

// elements returns the elements directly below the set.
func (s Set) elements() (all []fieldpath.PathElement) {
	if s.fields == nil {
		return nil
	}
	s.fields.Members.Iterate(func(e fieldpath.PathElement) { all = append(all, e) })
	s.fields.Children.Iterate(func(e fieldpath.PathElement) {
		if !s.fields.Members.Has(e) {
			all = append(all, e)
		}
	})
	return all
}

// withOwner returns the set with the UID in the key of the owner reference from which takeUID
// took it, and whether there is such a reference. The sets share everything else.
func (s Set) withOwner(uid ownerUID) (Set, bool) {
	metadata, references := fieldpath.FieldNameElement("metadata"), fieldpath.FieldNameElement("ownerReferences")
	object, _ := s.at(metadata)
	list, _ := object.at(references)
	if _, found := list.at(referenceTo("")); !found {
		return Set{}, false
	}
	owners := renamed(list.fields, func(e fieldpath.PathElement) fieldpath.PathElement {
		if e.Equals(referenceTo("")) {
			return referenceTo(uid.text())
		}
		return e
	})
	return Set{replaced(s.fields, metadata, replaced(object.fields, references, owners))}, true
}

// referenceTo returns the element of an owner reference.
func referenceTo(uid string) fieldpath.PathElement {
	return fieldpath.PathElement{Key: fieldpath.KeyByFields("uid", uid)}
}

// renamed returns a set whose elements have other names.
func renamed(s *fieldpath.Set, name func(fieldpath.PathElement) fieldpath.PathElement) *fieldpath.Set {
	out := &fieldpath.Set{}
	for e := range s.Members.All() {
		out.Members.Insert(name(e))
	}
	for e := range s.Children.All() {
		below, _ := s.Children.Get(e)
		*out.Children.Descend(name(e)) = *below
	}
	return out
}

// replaced returns a set that has other fields below one of its elements.
func replaced(s *fieldpath.Set, e fieldpath.PathElement, below *fieldpath.Set) *fieldpath.Set {
	out := renamed(s, func(e fieldpath.PathElement) fieldpath.PathElement { return e })
	*out.Children.Descend(e) = *below
	return out
}

// Equals reports whether two sets have the same fields.
func (s Set) Equals(other Set) bool { return s.fields.Equals(other.fields) }

// Under returns the fields below a field of the object. It is empty if the set does
// not have the field, or has only the field itself.
func (s Set) Under(field string) Set {
	below, _ := s.at(fieldpath.FieldNameElement(field))
	return below
}

// Has reports whether the set has a field, or anything below it.
func (s Set) Has(names ...string) bool { return s.hasPath(fieldNames(names)) }

func (s Set) hasPath(path fieldpath.Path) bool {
	for _, e := range path {
		below, found := s.at(e)
		if !found {
			return false
		}
		s = below
	}
	return true
}

// Owns is like Has, but a field that is a leaf of the set includes all fields inside it: it is atomic, or was when the
// manager wrote it. The leaf may also be a granular map without keys, which only the schema can tell.
func (s Set) Owns(path fieldpath.Path) bool {
	for _, e := range path {
		below, found := s.at(e)
		if !found {
			return false
		}
		if s = below; s.fields == nil {
			return true
		}
	}
	return true
}

// Without returns the set without some fields and everything below them.
func (s Set) Without(paths [][]string) Set {
	removed := make([]fieldpath.Path, len(paths))
	for i, names := range paths {
		removed[i] = fieldNames(names)
	}
	return s.without(removed)
}

func fieldNames(names []string) fieldpath.Path {
	path := make(fieldpath.Path, len(names))
	for i, name := range names {
		path[i] = fieldpath.FieldNameElement(name)
	}
	return path
}

// Union returns the fields of both sets.
func (s Set) Union(other Set) Set { return Set{s.fields.Union(other.fields)} }

// Covers reports whether every field of a value is in the set.
func (s Set) Covers(desired any) bool {
	if s.fields == nil {
		return true
	}
	switch desired := desired.(type) {
	case map[string]any:
		for name, want := range desired {
			below, found := s.at(fieldpath.FieldNameElement(name))
			if list, ok := want.([]any); want == nil || ok && len(list) == 0 && !found {
				continue // A null or an empty associative list has no owner.
			}
			if !found || !below.Covers(want) {
				return false
			}
		}
	case []any:
		elements := s.elements()
		for _, item := range desired {
			if !s.coversItem(elements, item) {
				return false
			}
		}
	}
	return true
}

func (s Set) coversItem(elements []fieldpath.PathElement, item any) bool {
	for _, e := range elements {
		if below, _ := s.at(e); selects(e, item) && below.Covers(item) {
			return true
		}
	}
	return false
}

// Exceeds reports whether the set has a field or a list item that a value lacks.
func (s Set) Exceeds(desired any) bool {
	for _, e := range s.elements() {
		below, _ := s.at(e)
		if e.FieldName != nil {
			object, _ := desired.(map[string]any)
			if want, found := object[*e.FieldName]; !found || below.Exceeds(want) {
				return true
			}
			continue
		}
		list, _ := desired.([]any)
		found := false
		for _, item := range list {
			found = found || selects(e, item) && !below.Exceeds(item)
		}
		if !found {
			return true
		}
	}
	return false
}

// Differing returns the fields whose live value is not the desired one. A list counts
// as one field.
func (s Set) Differing(live, desired map[string]any) []string {
	return s.differing(live, desired, nil)
}

func (s Set) differing(live, desired map[string]any, under []string) (all []string) {
	for name, want := range desired {
		path := append(under[:len(under):len(under)], name)
		have, found := live[name]
		below, owned := s.at(fieldpath.FieldNameElement(name))
		wantMap, isMap := want.(map[string]any)
		haveMap, both := have.(map[string]any)
		switch {
		case isMap && both && owned && below.fields == nil && len(wantMap) > 0: // Ours as a whole.
			if !EqualValues(have, want) {
				all = append(all, strings.Join(path, "."))
			}
		case isMap && both:
			all = append(all, below.differing(haveMap, wantMap, path)...)
		case !found && want == nil:
		case !found || !below.Agrees(have, want):
			all = append(all, strings.Join(path, "."))
		}
	}
	return all
}

// Agrees reports whether a live value equals the desired one, apart from fields and
// list items that only the live value has. The set shows which lists have items with
// an identity.
func (s Set) Agrees(live, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		object, isMap := live.(map[string]any)
		return isMap && len(s.differing(object, desired, nil)) == 0
	case []any:
		list, _ := live.([]any)
		return EqualValues(desired, live) || s.fields != nil && s.agreesOnItems(list, desired)
	}
	return EqualValues(desired, live)
}

func (s Set) agreesOnItems(live, desired []any) bool {
	elements := s.elements()
	for _, item := range desired {
		found := false
		for _, have := range live {
			found = found || s.agreesOnItem(elements, have, item)
		}
		if !found {
			return false
		}
	}
	return true
}

func (s Set) agreesOnItem(elements []fieldpath.PathElement, live, desired any) bool {
	for _, e := range elements {
		if below, _ := s.at(e); selects(e, live) && selects(e, desired) && below.Agrees(live, desired) {
			return true
		}
	}
	return false
}

// Select returns a copy of the part of a value that is in the set.
func (s Set) Select(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if s.fields == nil {
			break
		}
		out := map[string]any{}
		for name, inside := range v {
			if below, found := s.at(fieldpath.FieldNameElement(name)); found {
				out[name] = below.Select(inside)
			}
		}
		return out
	case []any:
		if s.fields == nil {
			break
		}
		out := []any{}
		elements := s.elements()
		for _, item := range v {
			for _, e := range elements {
				if selects(e, item) {
					below, _ := s.at(e)
					out = append(out, below.Select(item))
					break
				}
			}
		}
		return out
	}
	return runtime.DeepCopyJSONValue(v)
}

// selects reports whether a path element identifies a list item. The server's
// defaults fill in a key that the item omits.
func selects(e fieldpath.PathElement, item any) bool {
	switch {
	case e.Key != nil:
		object, isMap := item.(map[string]any)
		for _, key := range *e.Key {
			if own, found := object[key.Name]; found && !value.Equals(key.Value, value.NewValueInterface(own)) {
				return false
			}
		}
		return isMap
	case e.Value != nil:
		return value.Equals(*e.Value, value.NewValueInterface(item))
	}
	return false
}

// EqualValues compares two JSON values. Numbers may have different Go types.
func EqualValues(a, b any) bool {
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}
