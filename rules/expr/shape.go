package expr

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Shape is what is known about a value before evaluation: the paths from which it
// may come, and its parts. It is the abstract value of the walk in analyze.go.
type Shape struct {
	paths  []path
	from   []read            // what it was computed from
	elem   *Shape            // of a list, or of a map with computed keys
	fields map[string]*Shape // of a map with known keys
}

// Self is the shape of the primary. All of it exists, except fields of its status.
func Self(name string) *Shape {
	return &Shape{paths: []path{{trail: name, liveField: "status", role: wholeObject}}}
}

// Live is the shape of an object that may not exist yet.
func Live(name string) *Shape {
	return &Shape{paths: []path{{trail: name, live: true, role: wholeObject}}}
}

// Items is the shape of a list of objects, whose fields may not exist yet. The value
// of an incomplete list tells that itself (NewIncomplete).
func Items(name string) *Shape {
	return &Shape{paths: []path{{trail: name, role: objectList}}}
}

// Fields is the shape of a map with these fields.
func Fields(fields map[string]*Shape) *Shape { return &Shape{fields: fields} }

// Elements is the shape of a list of these elements.
func Elements(items []*Shape) *Shape {
	s := &Shape{}
	for _, i := range items {
		s.elem = joinShapes(s.elem, i)
	}
	return s
}

// Keys returns the keys of a map that are known, sorted. It may have others.
func (s *Shape) Keys() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.fields))
}

// field returns the shape of s.name.
func (s *Shape) field(name string) *Shape {
	if s == nil {
		return nil
	}
	return joinShapes(joinShapes(s.named(name), s.fields[name]), s.elem).with(s.from)
}

// index returns the shape of s[i].
func (s *Shape) index(i int64) *Shape {
	if s == nil {
		return nil
	}
	return joinShapes(s.at(i), s.elem).with(s.from)
}

// Any returns the shape of any element or field of s.
func (s *Shape) Any() *Shape {
	if s == nil {
		return nil
	}
	out := joinShapes(s.somewhere(), s.elem)
	for _, key := range slices.Sorted(maps.Keys(s.fields)) {
		out = joinShapes(out, s.fields[key])
	}
	return out.with(s.from)
}

// named, at and somewhere return the paths below those of s.
func (s *Shape) named(name string) *Shape { return s.step(fieldStep(name), name) }

func (s *Shape) at(i int64) *Shape { return s.step("["+strconv.FormatInt(i, 10)+"]", anyKey) }

func (s *Shape) somewhere() *Shape { return s.step("[]", anyKey) }

func (s *Shape) step(text, key string) *Shape {
	if s == nil || len(s.paths) == 0 {
		return nil
	}
	out := &Shape{paths: make([]path, len(s.paths))}
	for i, p := range s.paths {
		out.paths[i] = p.step(text, key)
	}
	return out
}

// fieldStep prints a field the way it is written in an expression.
func fieldStep(name string) string {
	for i, c := range name {
		if c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9' {
			continue
		}
		return "[" + strconv.Quote(name) + "]"
	}
	return "." + name
}

// Join prints a field of what is printed as where.
func Join(where, field string) string {
	return strings.TrimPrefix(where+fieldStep(field), ".")
}

// maxPaths bounds the paths of a value, so that a conditional of conditionals stays
// small. What exceeds it is added to the reads.
const maxPaths = 16

// joinShapes returns the shape of a value that is either a or b.
func joinShapes(a, b *Shape) *Shape {
	if a == nil {
		return b
	}
	if b == nil || a == b {
		return a
	}
	out := &Shape{paths: a.paths, from: unionReads(a.from, b.from), elem: joinShapes(a.elem, b.elem)}
	for _, p := range b.paths {
		switch {
		case slices.Contains(out.paths, p):
		case len(out.paths) < maxPaths:
			out.paths = append(out.paths[:len(out.paths):len(out.paths)], p)
		default:
			out.from = unionReads(out.from, []read{{p.trail, p.role != ordinary, false}})
		}
	}
	if len(a.fields)+len(b.fields) > 0 {
		out.fields = make(map[string]*Shape, len(a.fields)+len(b.fields))
		maps.Copy(out.fields, a.fields)
		for k, f := range b.fields {
			out.fields[k] = joinShapes(out.fields[k], f)
		}
	}
	return out
}

// liveTrails returns the trails of the paths whose values may not exist yet.
func (s *Shape) liveTrails() []string {
	if s == nil {
		return nil
	}
	var out []string
	for _, p := range s.paths {
		if p.live {
			out = append(out, p.trail)
		}
	}
	return out
}

// Root returns the variable that a trail starts with.
func Root(trail string) string {
	if i := strings.IndexAny(trail, ".["); i >= 0 {
		return trail[:i]
	}
	return trail
}
