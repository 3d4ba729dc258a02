package why

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// named is what origins name, with all that they come from.
type named struct {
	readings []rules.Reading
	roles    []rules.Role
}

// deciding are the roles that decide whether an object exists.
var deciding = []rules.Role{rules.RoleSelection, rules.RoleWhen, rules.RoleExcluded, rules.RoleName, rules.RoleNamespace, rules.RoleReplicas, rules.RoleLookup}

func (n *named) add(all []rules.Origin) { n.addWithout(all, nil) }

func (n *named) addWithout(all []rules.Origin, without []rules.Role) {
	for _, o := range all {
		if slices.Contains(without, o.Role) {
			continue
		}
		n.roles = append(n.roles, o.Role)
		for _, r := range o.Reads {
			n.readings = append(n.readings, r)
			n.addWithout(r.From, without)
		}
	}
}

// An input is a field of an object that rules may read.
type input struct {
	object *files.Object
	path   []any
	leaf   bool // it is a scalar that is there
	others []any
}

func (in input) String() string { return in.object.String() + expr.Path("", in.path) }

// has reports whether an input is named: itself, all of what it is in, a part of it, or the
// number of elements if it is a new one or may be removed.
func (n *named) has(in input) bool {
	id := rules.Identity{GVK: in.object.GroupVersionKind(), Namespace: in.object.GetNamespace(), Name: in.object.GetName()}
	for _, r := range n.readings {
		switch {
		case r.Object == nil || *r.Object != id:
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

// inputsOf returns the fields of an object that have no meaning to reconcel itself: with
// another name it would be another object, and with other labels of reconcel not its child.
// Other objects of its kind say which fields it could have.
func inputsOf(o *files.Object, alike []*files.Object) (all []input) {
	for _, key := range []string{"spec", "status", "data", "stringData", "type", "metadata"} {
		leaves(o.Object[key], []any{key}, func(path []any, value any) {
			if !isInput(path) {
				return
			}
			if others := alternatives(value); others != nil {
				all = append(all, input{object: o, path: path, leaf: true, others: append(others, absent)})
			}
			for n := 2; n < len(path); n++ { // The maps that it is in.
				if _, isMap := valueAt(o.Object, path[:n]).(map[string]any); isMap && key != "metadata" {
					all = append(all, input{object: o, path: path[:n], others: []any{absent}})
				}
			}
			if key, isKey := path[len(path)-1].(string); isKey {
				all = append(all, input{object: o, path: append(slices.Clone(path[:len(path)-1]), key+"x"), others: []any{value}})
			}
		})
		for _, other := range alike {
			leaves(other.Object[key], []any{key}, func(path []any, value any) {
				if other.GroupVersionKind() == o.GroupVersionKind() && isInput(path) && valueAt(o.Object, path) == nil {
					all = append(all, input{object: o, path: path, others: []any{value}})
				}
			})
		}
	}
	slices.SortFunc(all, func(a, b input) int { return strings.Compare(a.String(), b.String()) })
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

// change returns the fields that have another value after some change of the input.
func (e *example) change(in input, fields []*field) map[*field]bool {
	changed := map[*field]bool{}
	for _, other := range in.others {
		after := e.render(in.object, func(object map[string]any) { in.set(object, other) })
		for _, f := range fields {
			if value, known := f.read(after); known && !reflect.DeepEqual(value, f.value) {
				changed[f] = true
			}
		}
	}
	return changed
}

// TestExamples changes each leaf of the inputs of each example to several other values of
// its type, removes it and the maps that it is in, and adds fields: one beside it, and those
// that other objects of the kind have.
//
// A field that a rule writes, or the existence of its object, changes only with inputs that
// its explanation names. This holds always. While a rule fails, or an object waits, the
// cluster keeps what it has: that is no change.
//
// The converse holds for most expressions: if one is explained by inputs, then a field that
// it gives changes with one of them. It cannot hold for all: an input may matter only
// together with others, or with a value that is not tried.
func TestExamples(t *testing.T) {
	folders, err := filepath.Glob("../../../examples/*/rules.yaml")
	if err != nil || len(folders) < 20 {
		t.Fatal(err, folders)
	}
	var total tally
	for _, path := range folders {
		folder := filepath.Dir(path)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			one := load(t, folder).check()
			t.Logf("%+v", one)
			total.add(one)
		})
	}
	t.Logf("%+v", total)
	if total.effective*100 < total.named*60 || total.moved*100 < total.explained*90 {
		t.Errorf("too much is named without an effect: %+v", total)
	}
}

// A tally counts what was compared.
type tally struct {
	fields, inputs, changes int
	named, effective        int // inputs of expressions, and those with an effect
	explained, moved        int // expressions with inputs, and those that change with one
}

func (t *tally) add(o tally) {
	t.fields += o.fields
	t.inputs += o.inputs
	t.changes += o.changes
	t.named += o.named
	t.effective += o.effective
	t.explained += o.explained
	t.moved += o.moved
}

// An expression is one that gives fields of an object.
type expression struct {
	object rules.Identity
	pos    source.Pos
}

func (e *example) check() (sum tally) {
	var fields []*field
	for _, s := range e.render(nil, nil) {
		fields = append(fields, e.fields(s)...)
	}
	if sum.fields = len(fields); len(fields) == 0 {
		e.Error("nothing is rendered")
	}
	moves := map[expression]bool{}
	objects := slices.Concat(e.resources, e.observed)
	for _, o := range objects {
		for _, in := range inputsOf(o, objects) {
			sum.inputs++
			changed := e.change(in, fields)
			sum.changes += len(changed)
			effect := map[expression]bool{}
			for _, f := range fields {
				if changed[f] && !f.from.has(in) && !f.why.has(in) {
					e.Errorf("%s changes with %s, which is not named", f, in)
				}
				if f.direct.has(in) && in.leaf {
					effect[f.by] = effect[f.by] || changed[f]
				}
			}
			for by, effective := range effect {
				sum.named++
				moves[by] = moves[by] || effective
				if effective {
					sum.effective++
				}
			}
		}
	}
	for _, moved := range moves {
		sum.explained++
		if moved {
			sum.moved++
		}
	}
	return sum
}
