package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
)

// readings explains what an expression has read. What is read of a part tells that the part
// exists.
func (a *asking) readings(reads []read) (all []Reading) {
	for _, r := range reads {
		if r.use == expr.UsedPresence && hasBelow(reads, r) || withinValue(reads, r) {
			continue
		}
		all = append(all, a.reading(r))
	}
	return all
}

func hasBelow(reads []read, r read) bool {
	for _, other := range reads {
		if other.of.name == r.of.name && (len(other.path) > len(r.path) ||
			len(other.path) == len(r.path) && other.use != r.use) && isPrefix(r.path, other.path) {
			return true
		}
	}
	return false
}

// withinValue reports whether a whole value around a part is read as well.
func withinValue(reads []read, r read) bool {
	for _, other := range reads {
		if other.of.name == r.of.name && other.use == expr.UsedValue && isPrefix(other.path,
			r.path) && (len(other.path) < len(r.path) || r.use != expr.UsedValue) {
			return true
		}
	}
	return false
}

func isPrefix(path, of []any) bool {
	if len(path) > len(of) {
		return false
	}
	for i, step := range path {
		if of[i] != step {
			return false
		}
	}
	return true
}

func (a *asking) reading(r read) Reading {
	one := Reading{Path: expr.Path(r.of.name, r.path), Use: r.use}
	if r.use == expr.UsedValue || r.use == expr.UsedExtent {
		one.Value, _ = jsonValue(r.value)
	}
	switch v := r.of; {
	case v.self:
		one.Object, one.Field = &a.of.self, r.path
		one.Withheld = r.use == expr.UsedValue && IsSecretData(a.of.self.GVK, r.path)
	case v.clock:
		one.Path, one.Value = "the time", nil
	case v.local:
		one.Path = expr.Path(v.name, r.path[1:])
		a.once(&one, fmt.Sprintf("%p%s", v.element, expr.Path("", r.path)), func() []Origin {
			return []Origin{a.evaluation(RoleForEach, "forEach", v.element.prog, v.element, r.path, r.use)}
		})
	case v.object != nil:
		a.ofObject(&one, v.object, r.path)
	case v.of.kind == letVariable:
		l := a.res.Rule.lets[v.of.index]
		one.Path = expr.Path(l.id(), r.path)
		a.once(&one, one.Path+" "+string(r.use), func() []Origin { return a.let(v.of.index, r.path, r.use) })
	case v.of.kind == lookupVariable:
		a.ofLookup(&one, r)
	case v.of.kind == previousVariable:
		a.ofPrevious(&one, r)
	default:
		a.ofChild(&one, r)
	}
	if a.secret {
		one.Withheld = true
	}
	if one.Withheld {
		one.Value = nil
	}
	return one
}

// once explains where a reading comes from, unless that is explained already.
func (a *asking) once(one *Reading, key string, explain func() []Origin) {
	hidden, done := a.done[key]
	if !done {
		a.done[key] = a.careful // while it is explained
		more := explain()
		hidden = withheld(more)
		a.done[key] = hidden
		one.From = append(one.From, more...)
	}
	one.Again = one.Again || done
	one.Withheld = one.Withheld || hidden
}

// let explains a part of a let.
func (a *asking) let(i int, path []any, use expr.Use) []Origin {
	l := a.res.Rule.lets[i]
	if l.prog != nil {
		return []Origin{a.program(RoleLet, l.where, l.prog, evaluated{}, path, use)}
	}
	return a.data(RoleLet, l.where, l.data, evaluated{}, path)
}

// data explains a part of data, as value computes it.
func (a *asking) data(role Role, where string, d *data, of evaluated, path []any) (all []Origin) {
	switch {
	case d == nil:
		return nil
	case d.prog != nil:
		return []Origin{a.program(role, where, d.prog, of, path, expr.UsedValue)}
	case d.text != nil:
		return []Origin{a.text(role, d.text, of)}
	case d.let != nil:
		return a.let(d.let.index, path, expr.UsedValue)
	case d.entries == nil:
		o := a.constant(where, d.pos, d.constant)
		o.Role = role
		return []Origin{o}
	}
	for i, e := range d.entries {
		step, at := any(i), where+expr.Step(i)
		if d.isMap {
			step, at = e.key, expr.Join(where, e.key)
		}
		switch {
		case len(path) == 0:
			all = append(all, a.data(role, at, e.value, of, nil)...)
		case path[0] == step:
			return append(a.data(role, at, e.value, of, path[1:]), all...)
		case !d.isMap: // If it is absent, the others move.
			all = append(all, a.data(RolePosition, at, e.value, of, nil)...)
		}
	}
	if len(path) > 0 && d.isMap {
		return nil
	}
	return all
}

// ofLookup explains a reading of a looked-up object.
func (a *asking) ofLookup(one *Reading, r read) {
	l := a.res.Rule.Lookups[r.of.of.index]
	object, rest := objectIn(r.of.value, r.path)
	a.at(one, l.GVK, object, rest)
	a.once(one, "lookup "+l.ID, func() []Origin { return a.lookup(l) })
}

// lookup explains which objects a lookup finds.
func (a *asking) lookup(l *Lookup) []Origin {
	var all []Origin
	if l.namespace != nil {
		all = append(all, a.text(RoleLookup, l.namespace, evaluated{}))
	} else {
		o := a.own("namespace", l.Pos, "namespace")
		o.Role = RoleLookup
		all = append(all, o)
	}
	switch {
	case l.name != nil:
		all = append(all, a.text(RoleLookup, l.name, evaluated{}))
	case l.names != nil:
		all = append(all, a.data(RoleLookup, "names", l.names, evaluated{}, nil)...)
	default:
		all = append(all, a.data(RoleLookup, "selector", l.selector, evaluated{}, nil)...)
	}
	for i := range all {
		all[i].Field = "lookups." + l.ID + "." + strings.TrimPrefix(all[i].Field, "lookups."+l.ID+".")
	}
	return all
}

// objectIn returns the object that a value is, or the one in a list or map of objects that
// a path leads to, and the path within it.
func objectIn(value any, path []any) (object map[string]any, rest []any) {
	switch v := value.(type) {
	case map[string]any:
		if v["kind"] != nil && v["apiVersion"] != nil || len(path) == 0 {
			return v, path
		}
		key, _ := path[0].(string)
		object, _ = v[key].(map[string]any)
	case []any:
		if len(path) == 0 {
			return nil, nil
		}
		if i, isIndex := path[0].(int); isIndex && i < len(v) {
			object, _ = v[i].(map[string]any)
		}
	}
	if object == nil {
		return nil, nil
	}
	return object, path[1:]
}

// ofPrevious explains a reading of previous(). The cluster has these objects, whatever the
// rule renders now.
func (a *asking) ofPrevious(one *Reading, r read) {
	c := a.res.Children[r.of.of.index].Child
	object, rest := objectIn(r.of.value, r.path)
	a.at(one, c.GVK, object, rest)
	if a.of.exists == nil {
		return
	}
	if object == nil {
		a.once(one, "child "+c.ID, func() []Origin { return a.child(&a.res.Children[r.of.of.index]) })
		return
	}
	live := a.of.exists(*one.Object)
	if v, has := expr.At(types.DefaultTypeAdapter.NativeToValue(live), rest); live != nil && has {
		if _, isMap := v.(traits.Mapper); !isMap || r.use == expr.UsedPresence {
			return
		}
	}
	a.ofChild(one, r)
}

// at says what of an object is read, if a kind has it.
func (a *asking) at(one *Reading, gvk schema.GroupVersionKind, object map[string]any, path []any) {
	if id := identityOf(object); id.name != "" {
		one.Object, one.Field = &Identity{GVK: gvk, Namespace: id.namespace, Name: id.name}, path
		one.Withheld = one.Use == expr.UsedValue && IsSecretData(gvk, path)
	} else {
		one.Withheld = one.Use == expr.UsedValue && isSecret(gvk)
	}
}

// ofChild explains a reading of objects of a child.
func (a *asking) ofChild(one *Reading, r read) {
	c := &a.res.Children[r.of.of.index]
	object, rest := objectIn(r.of.value, r.path)
	a.at(one, c.Child.GVK, object, rest)
	for i := range c.Objects {
		if d := &c.Objects[i]; one.Object != nil && d.Identity == *one.Object {
			a.ofObject(one, d, rest)
			return
		}
	}
	a.once(one, "child "+c.Child.ID, func() []Origin { return a.child(c) })
}

// ofObject explains a reading of an object of a child.
func (a *asking) ofObject(one *Reading, d *Desired, path []any) {
	id := d.Identity
	one.Object, one.Field = &id, path
	one.Withheld = one.Use == expr.UsedValue && IsSecretData(id.GVK, path)
	if len(path) > 0 {
		outer := a.secret
		a.secret = a.secret || IsSecretData(id.GVK, path)
		a.once(one, id.String()+expr.Path("", path)+string(one.Use), func() []Origin {
			all := a.field(d, path)
			if one.Use != expr.UsedValue { // Constants in it do not matter.
				all = slices.DeleteFunc(all, func(o Origin) bool { return o.Text == "" && len(o.Reads) == 0 })
			}
			return all
		})
		a.secret = outer
	} else if one.Use == expr.UsedValue {
		a.once(one, id.String()+" as a whole", func() []Origin { return a.field(d, nil) })
	}
	a.once(one, id.String(), func() []Origin { return a.existence(d) })
}
