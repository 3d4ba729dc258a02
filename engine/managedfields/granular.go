package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A Granular is a map or a list in which the API server records an owner for each key or element, by
// the schema of its kind. Everything else is nil.
type Granular struct {
	Fields map[string]*Granular // the granular fields of an object, by name
	Each   *Granular            // the values of a map, or the elements of a list
}

func (g *Granular) at(e fieldpath.PathElement) *Granular {
	if g == nil {
		return nil
	}
	if e.FieldName != nil {
		if field, found := g.Fields[*e.FieldName]; found {
			return field
		}
	}
	return g.Each
}

// Whole returns the fields that an entry has as a whole although they are granular: the entry is
// older than the schema, or the field is an empty map. The API server does not notice that another
// writer changes what is in such a field. An apply of the field gives the entry what the rendering
// has in it, but it does not remove what the rendering has dropped (structured-merge-diff v6,
// ReconcileFieldSetWithSchema: "treated as if they were always granular").
func (g *Granular) Whole(e Entry) []fieldpath.Path {
	if g == nil || e == (Entry{}) {
		return nil
	}
	return g.whole(e.Set(), nil)
}

func (g *Granular) whole(s Set, under fieldpath.Path) (all []fieldpath.Path) {
	for _, e := range s.elements() {
		inside := g.at(e)
		if inside == nil {
			continue
		}
		path := append(under[:len(under):len(under)], e)
		if below, _ := s.at(e); below.fields != nil {
			all = append(all, inside.whole(below, path)...)
		} else if e.FieldName != nil { // An element of a list has at least its key.
			all = append(all, path)
		}
	}
	return all
}

// Divided returns the fields that an entry has as a whole and a later entry only in parts.
func Divided(before, after Entry) []fieldpath.Path {
	if before == after || before == (Entry{}) || after == (Entry{}) {
		return nil
	}
	return before.Set().divided(after.Set(), nil)
}

func (s Set) divided(after Set, under fieldpath.Path) (all []fieldpath.Path) {
	for _, e := range s.elements() {
		now, _ := after.at(e)
		if now.fields == nil {
			continue
		}
		path := append(under[:len(under):len(under)], e)
		if below, _ := s.at(e); below.fields != nil {
			all = append(all, below.divided(now, path)...)
		} else {
			all = append(all, path)
		}
	}
	return all
}

// Filled returns those of some fields that are a map or a list with content in an object.
func Filled(fields []fieldpath.Path, object map[string]any) []fieldpath.Path {
	return slices.DeleteFunc(slices.Clone(fields), func(path fieldpath.Path) bool {
		switch v := valueAt(object, path).(type) {
		case map[string]any:
			return len(v) == 0
		case []any:
			return len(v) == 0
		}
		return true
	})
}

func valueAt(v any, path fieldpath.Path) any {
	for _, e := range path {
		switch in := v.(type) {
		case map[string]any:
			if e.FieldName == nil {
				return nil
			}
			v = in[*e.FieldName]
		case []any:
			i := slices.IndexFunc(in, func(item any) bool { return selects(e, item) })
			if i < 0 {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}
