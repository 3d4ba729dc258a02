package check

import (
	"maps"
	"strings"
)

// step separates the keys of a path to a field; no key has it.
const step = "\x00"

// Facts are the paths to fields of the primary that are surely there.
type facts map[string]bool

// with returns the facts and, if one knows that a field is there, that it is,
// and so is all that it is part of.
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

// and returns what either says.
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

// both returns what f and other agree on.
func (f facts) both(other facts) facts {
	out := facts{}
	for key := range f {
		if other[key] {
			out[key] = true
		}
	}
	return out
}

// below returns what is known of the parts of a place, as paths from there.
func (f facts) below(key string) []string {
	var out []string
	for k := range f {
		if rest, ok := strings.CutPrefix(k, key+step); ok {
			out = append(out, rest)
		}
	}
	return out
}

// A value is what is known of the value of an expression. Nil is a value of
// which nothing can be said.
type value struct {
	// own says that it is part of the primary as its author wrote it.
	own bool
	// key is the path that facts know it by, or "".
	key string
	// shown is how people write it.
	shown string
	// elem is an element of a list, if it is none of this place.
	elem *value
	// each is what is known of every element.
	each []string
	// flawed says that a step on the way has been complained about.
	flawed bool
}

// below returns the value of a field.
func (v *value) below(name string, shown string) *value {
	switch {
	case v == nil || !v.own:
		return nil
	case v.key == "self" && name == "status":
		return nil // What is not there yet will be.
	}
	out := &value{own: true, shown: v.shown + shown, flawed: v.flawed}
	if v.key != "" {
		out.key = v.key + step + name
	}
	return out
}

// An outcome is what is known after an expression.
type outcome struct {
	*value
	yes, no facts // if it is true, or false
	// ran are the fields that must have been there for it to be anything at
	// all: without them it fails. That is no guard for what is read before.
	ran facts
}

// asIs returns what is known of a result that is true or false.
func (o outcome) asIs() outcome { return outcome{yes: o.yes, no: o.no, ran: o.ran} }

// negated returns what is known after !.
func (o outcome) negated() outcome { return outcome{yes: o.no, no: o.yes, ran: o.ran} }

// truly returns what is known if the expression is true.
func (o outcome) truly() facts { return o.ran.and(o.yes) }

// falsely returns what is known if the expression is false.
func (o outcome) falsely() facts { return o.ran.and(o.no) }
