package check

import (
	"maps"
	"strings"
)

// step separates the keys of a path. No key contains it.
const step = "\x00"

// Facts are the paths of fields of the primary that are present.
type facts map[string]bool

// never is the fact of what cannot be, such as an object of another kind. All other facts
// follow from it.
const never = "\x00never"

// include reports whether the field with this path is present.
func (f facts) include(key string) bool { return f[key] || f[never] || f[ofAnyElement(key)] }

// anyElement is the step to all elements of a list.
const anyElement = "[]"

// ofAnyElement returns a path with anyElement in place of indexes.
func ofAnyElement(key string) string {
	if !strings.Contains(key, step+"[") {
		return key
	}
	steps := strings.Split(key, step)
	for i, s := range steps {
		if strings.HasPrefix(s, "[") {
			steps[i] = anyElement
		}
	}
	return strings.Join(steps, step)
}

// ofElements returns what is known about all elements of a list, from the facts about the variable of a loop.
func (v *value) ofElements(f facts, item *value) facts {
	if v == nil || v.key == "" || item == nil {
		return nil
	}
	out := facts{}
	for _, rest := range f.below(item.key) {
		out[v.key+step+anyElement+step+rest] = true
	}
	return out
}

// decided returns what is known about a result that is always the same.
func decided(result bool) (yes, no facts) {
	if result {
		return nil, facts{never: true}
	}
	return facts{never: true}, nil
}

// with returns the facts and that a field is present, with all its parents.
func (f facts) with(v *value) facts {
	if v == nil || v.key == "" {
		return f
	}
	out := facts{v.key: true}
	for i, c := range v.key {
		if string(c) == step {
			out[v.key[:i]] = true
		}
	}
	return f.and(out)
}

// and returns the facts of both.
func (f facts) and(other facts) facts {
	switch {
	case len(other) == 0:
		return f
	case len(f) == 0:
		return other
	}
	out := maps.Clone(f)
	maps.Copy(out, other)
	return out
}

// or returns the facts that f and other have in common.
func (f facts) or(other facts) facts {
	switch {
	case f[never]:
		return other
	case other[never]:
		return f
	}
	out := facts{}
	for key := range f {
		if other[key] {
			out[key] = true
		}
	}
	return out
}

// below returns the facts about the fields below a path, as paths from there.
func (f facts) below(key string) []string {
	var out []string
	for k := range f {
		if rest, ok := strings.CutPrefix(k, key+step); ok {
			out = append(out, rest)
		}
	}
	return out
}

// A value is what is known about a part of the primary, outside its status. Nothing
// is known about a nil value.
type value struct {
	// key is its path among the facts, or "".
	key string
	// shown is the path that messages show.
	shown string
	// elem is an element of a list that has no path.
	elem *value
	// each are the facts about every element.
	each []string
	// flaw is the warning about a field on its path, or nil.
	flaw *flaw
	// severalKinds: the primary may be of several kinds. Then ofStatus are the parts of its
	// status: expressions wait for them, unless the kind lacks them.
	severalKinds, ofStatus bool
	// made: it is a part of a child, of which only the template is known.
	made *made
}

// below returns the value of a field.
func (v *value) below(name string) *value {
	switch {
	case v == nil:
		return nil
	case v.key == "self" && name == "status" && !v.severalKinds:
		return nil // Expressions wait for a missing status.
	}
	out := &value{shown: v.shown + shownStep(name), flaw: v.flaw, severalKinds: v.severalKinds}
	if v.made != nil {
		out.made = &made{own: v.made.own}
	}
	out.ofStatus = v.ofStatus || v.key == "self" && name == "status"
	if v.key != "" {
		out.key = v.key + step + name
	}
	return out
}

// flaws returns the flaw of a value, or nil.
func (v *value) flaws() *flaw {
	if v == nil {
		return nil
	}
	return v.flaw
}

// root returns the name at which the path of a value begins.
func (v *value) root() string {
	name, _, _ := strings.Cut(v.shown, ".")
	return name
}

// element returns the value of any element. Nothing is known of those of a child.
func (v *value) element() *value {
	if v == nil || v.made != nil {
		return nil
	}
	out := &value{}
	if v.elem != nil {
		*out = *v.elem
	}
	out.flaw = nil
	return out
}

// An outcome is what is known after an expression was evaluated.
type outcome struct {
	*value
	yes, no facts // if it is true, or false
	// ran are the fields without which the expression fails. They do not guard
	// what is read before.
	ran facts
}

// asIs returns what is known about a boolean result.
func (o outcome) asIs() outcome { return outcome{yes: o.yes, no: o.no, ran: o.ran} }

// negated returns what is known about !result.
func (o outcome) negated() outcome { return outcome{yes: o.no, no: o.yes, ran: o.ran} }

// truly returns the facts if the expression is true.
func (o outcome) truly() facts { return o.ran.and(o.yes) }

// falsely returns the facts if the expression is false.
func (o outcome) falsely() facts { return o.ran.and(o.no) }
