package expr

import (
	"maps"
	"slices"

	"reconcel/rules/projection"
)

// An Origin is where a value comes from: the fields of live objects that it may be, and
// the origins of its parts. nil is the origin of a value that reads nothing more when it
// is used.
//
// A value that is only passed on keeps nothing but its presence. Keep marks what a value
// is read from when the value itself matters.
type Origin struct {
	at     []*projection.Builder
	elem   *Origin            // of a list, or of a map with computed keys
	fields map[string]*Origin // of a map with known keys
}

// ObjectOrigin is the origin of an object.
func ObjectOrigin(b *projection.Builder) *Origin {
	return &Origin{at: []*projection.Builder{b}}
}

// ListOrigin is the origin of a list of these elements.
func ListOrigin(elements ...*Origin) *Origin {
	o := &Origin{}
	for _, e := range elements {
		o.elem = joinOrigins(o.elem, e)
	}
	return o
}

// MapOrigin is the origin of a map with these fields.
func MapOrigin(fields map[string]*Origin) *Origin { return &Origin{fields: fields} }

// Keep keeps everything that the value is made of.
func (o *Origin) Keep() { o.keep(map[*Origin]bool{}) }

// KeepField keeps a field of the value.
func (o *Origin) KeepField(path ...string) {
	for _, name := range path {
		o = o.field(name)
	}
	o.Keep()
}

// keep visits each origin once: lets may share parts, and double them each time.
func (o *Origin) keep(seen map[*Origin]bool) {
	if o == nil || seen[o] {
		return
	}
	seen[o] = true
	for _, b := range o.at {
		b.Keep()
	}
	o.elem.keep(seen)
	for _, f := range o.fields {
		f.keep(seen)
	}
}

// field returns the origin of o.name.
func (o *Origin) field(name string) *Origin {
	if o == nil {
		return nil
	}
	out := joinOrigins(o.fields[name], o.elem)
	if len(o.at) == 0 {
		return out
	}
	below := &Origin{}
	for _, b := range o.at {
		below.at = append(below.at, b.Field(name))
	}
	return joinOrigins(below, out)
}

// Any returns the origin of any element or entry of the value, and keeps their number and
// the keys of a map.
func (o *Origin) Any() *Origin {
	if o == nil {
		return nil
	}
	out := o.elem
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		out = joinOrigins(out, o.fields[key])
	}
	if len(o.at) == 0 {
		return out
	}
	below := &Origin{}
	for _, b := range o.at {
		below.at = append(below.at, b.Each())
	}
	return joinOrigins(below, out)
}

// joinOrigins returns the origin of a value that is either a or b.
func joinOrigins(a, b *Origin) *Origin {
	if a == nil || a == b {
		return b
	}
	if b == nil {
		return a
	}
	out := &Origin{at: slices.Clone(a.at), elem: joinOrigins(a.elem, b.elem)}
	for _, at := range b.at {
		if !slices.Contains(out.at, at) {
			out.at = append(out.at, at)
		}
	}
	if len(a.fields)+len(b.fields) > 0 {
		out.fields = maps.Clone(a.fields)
		if out.fields == nil {
			out.fields = map[string]*Origin{}
		}
		for key, f := range b.fields {
			out.fields[key] = joinOrigins(out.fields[key], f)
		}
	}
	return out
}
