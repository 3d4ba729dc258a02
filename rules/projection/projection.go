package projection

import (
	"maps"
	"strings"
)

// A Projection names the fields of a value to keep. It is immutable. nil keeps nothing: the
// field itself is left out.
type Projection struct {
	all    bool
	fields map[string]*Projection // of a map; these take precedence over each
	each   *Projection            // of every other entry of a map, and every element of a list; nil: none
	prefix string                 // of the names of other entries of a map that are kept whole; "": none
}

var whole = &Projection{all: true}

// Whole keeps everything.
func Whole() *Projection { return whole }

// All reports whether everything is kept.
func (p *Projection) All() bool { return p != nil && p.all }

// Field returns what is kept of a field of a map, or nil if the field is left out.
func (p *Projection) Field(name string) *Projection {
	if p == nil || p.all {
		return p
	}
	if f, named := p.fields[name]; named {
		return f
	}
	if p.prefix != "" && strings.HasPrefix(name, p.prefix) {
		return whole
	}
	return p.each
}

// Elements returns what is kept of each element of a list, or nil if the list is kept
// without elements.
func (p *Projection) Elements() *Projection {
	if p == nil || p.all {
		return p
	}
	return p.each
}

// Beyond reports whether p may keep a field of a map besides those with the given names.
func (p *Projection) Beyond(names map[string]bool) bool {
	if p == nil {
		return false
	}
	for name, f := range p.fields {
		if f != nil && !names[name] {
			return true
		}
	}
	return p.all || p.each != nil || p.prefix != ""
}

// Of returns the part of a JSON value that p keeps, as a copy. p must not be nil.
func (p *Projection) Of(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return p.OfMap(v)
	case []any:
		out := []any{}
		if each := p.Elements(); each != nil {
			out = make([]any, len(v))
			for i, item := range v {
				out[i] = each.Of(item)
			}
		}
		return out
	}
	return value
}

// OfMap is Of for a map.
func (p *Projection) OfMap(m map[string]any) map[string]any {
	out := make(map[string]any, p.sizeOf(m))
	for key, value := range m {
		if f := p.Field(key); f != nil {
			out[key] = f.Of(value)
		}
	}
	return out
}

// sizeOf returns an upper bound for the number of fields that are kept of a map.
func (p *Projection) sizeOf(m map[string]any) int {
	if p.all || p.each != nil || p.prefix != "" {
		return len(m)
	}
	return min(len(m), len(p.fields))
}

// Covers reports whether p keeps everything that q keeps.
func (p *Projection) Covers(q *Projection) bool {
	switch {
	case q == nil || p.All():
		return true
	case p == nil || q.all:
		return false
	}
	for name := range p.fields { // It may keep less of the field than of the others.
		if !p.fields[name].Covers(q.Field(name)) {
			return false
		}
	}
	for name, f := range q.fields {
		if !p.Field(name).Covers(f) {
			return false
		}
	}
	return p.each.Covers(q.each) && (q.prefix == "" || q.prefix == p.prefix || p.each.All())
}

// Without returns p without one field.
func (p *Projection) Without(path ...string) *Projection {
	f := p.Field(path[0])
	if f == nil {
		return p
	}
	out := &Projection{fields: maps.Clone(p.fields), each: p.Elements()}
	if !p.all {
		out.prefix = p.prefix
	}
	if out.fields == nil {
		out.fields = map[string]*Projection{}
	}
	out.fields[path[0]] = nil
	if len(path) > 1 {
		out.fields[path[0]] = f.Without(path[1:]...)
	}
	return out
}
