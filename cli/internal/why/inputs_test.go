package why

import (
	"cmp"
	"slices"
	"strings"

	"reconcel/rules"
	"reconcel/rules/expr"
)

// named is what origins name, with all that they come from.
type named struct {
	readings []rules.Reading
	roles    []rules.Role
}

func (n *named) add(all []rules.Origin) {
	for _, o := range all {
		n.roles = append(n.roles, o.Role)
		for _, r := range o.Reads {
			n.readings = append(n.readings, r)
			n.add(r.From)
		}
	}
}

// An input is a field of an object that rules may read.
type input struct {
	of     rules.Identity
	path   []any
	others []any // values to change it to
}

func (in input) String() string { return in.of.String() + expr.Path("", in.path) }

// has reports whether an input is named: itself, all of what it is in, a part of it, or the
// number of elements if it is a new one or may be removed.
func (n *named) has(in input) bool {
	for _, r := range n.readings {
		switch {
		case r.Object == nil || *r.Object != in.of:
		case isPrefix(in.path, r.Field):
			return true
		case r.Use == expr.UsedExtent && len(in.path) != len(r.Field)+1:
		case r.Use != expr.UsedPresence && isPrefix(r.Field, in.path):
			return true
		}
	}
	// The labels of an object decide whether a lookup finds it.
	return in.path[0] == "metadata" && slices.Contains(n.roles, rules.RoleLookup)
}

func isPrefix(path, of []any) bool {
	return len(path) <= len(of) && slices.Equal(path, of[:len(path)])
}

// absent stands for the removal of a field.
var absent = new(int)

// inputs returns the fields of all objects that have no meaning to reconcel itself: with
// another name it would be another object, and with other labels of reconcel not its child.
// Other objects of its kind say which fields it could have.
func (e *example) inputs() (all []input) {
	objects := slices.Concat(e.resources, e.observed)
	for _, o := range objects {
		id := idOf(o)
		for _, key := range []string{"spec", "status", "data", "stringData", "type", "metadata"} {
			leaves(o.Unstructured.Object[key], []any{key}, func(path []any, value any) {
				if !isInput(path) {
					return
				}
				if others := alternatives(value); others != nil {
					all = append(all, input{id, path, append(others, absent)})
				}
				for n := 2; n < len(path); n++ { // The maps that it is in.
					if _, isMap := valueAt(o.Unstructured.Object, path[:n]).(map[string]any); isMap && key != "metadata" {
						all = append(all, input{of: id, path: path[:n], others: []any{absent}})
					}
				}
				if key, isKey := path[len(path)-1].(string); isKey {
					all = append(all, input{of: id, path: append(slices.Clone(path[:len(path)-1]), key+"x"), others: []any{value}})
				}
			})
			for _, other := range objects {
				leaves(other.Unstructured.Object[key], []any{key}, func(path []any, value any) {
					if other.Unstructured.GroupVersionKind() == o.Unstructured.GroupVersionKind() && isInput(path) && valueAt(o.Unstructured.Object, path) == nil {
						all = append(all, input{of: id, path: path, others: []any{value}})
					}
				})
			}
		}
	}
	// What is observed of a resource is the same object.
	slices.SortStableFunc(all, func(a, b input) int {
		return cmp.Or(strings.Compare(a.String(), b.String()), -cmp.Compare(len(a.others), len(b.others)))
	})
	return slices.CompactFunc(all, func(a, b input) bool { return a.String() == b.String() })
}

func isInput(path []any) bool {
	if path[0] != "metadata" {
		return true
	}
	return len(path) == 3 && (path[1] == "labels" || path[1] == "annotations") && !strings.HasPrefix(path[2].(string), "reconcel.dev/")
}

// alternatives returns other values of the type of a leaf.
func alternatives(value any) []any {
	switch v := value.(type) {
	case string:
		return []any{v + "1", "other", "", "1h", "2001-02-03T04:05:06Z", "mariadb", "mysql", "17"}
	case bool:
		return []any{!v}
	case int64:
		return []any{v + 1, v - 1, int64(0), v * 2}
	}
	return nil
}

func (in input) set(object map[string]any, value any) {
	for n := 1; n < len(in.path); n++ { // The maps that it is to be in.
		of, isMap := valueAt(object, in.path[:n-1]).(map[string]any)
		if key, isKey := in.path[n-1].(string); isMap && isKey && of[key] == nil {
			of[key] = map[string]any{}
		}
	}
	step := in.path[len(in.path)-1]
	switch of := valueAt(object, in.path[:len(in.path)-1]).(type) {
	case map[string]any:
		key, _ := step.(string)
		if of[key] = value; value == absent {
			delete(of, key)
		}
	case []any:
		i, isIndex := step.(int)
		switch {
		case !isIndex || i >= len(of):
		case value == absent:
			of[i] = nil
		default:
			of[i] = value
		}
	}
}
