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

// A read is a path that a value depends on.
type read struct {
	trail string
	// volatile: every write changes the value at the path.
	volatile bool
	// extent: only its presence is read, or the number of its elements.
	extent bool
}

// maxReads bounds the reads of a value. At least one volatile read is always kept.
const maxReads = 64

// Computed is the shape of a value that is computed from others.
func Computed(parts ...*Shape) *Shape {
	g := gathering{seen: map[*Shape]bool{}}
	for _, p := range parts {
		g.whole(p)
	}
	return (*Shape)(nil).with(g.reads)
}

// with returns the shape of a value like s that depends on these reads as well.
func (s *Shape) with(reads []read) *Shape {
	switch {
	case len(reads) == 0:
		return s
	case s == nil:
		return &Shape{from: reads}
	}
	out := *s
	out.from = unionReads(s.from, reads)
	return &out
}

// wholes returns the reads of an expression that uses the whole value.
func (s *Shape) wholes() []read {
	g := gathering{seen: map[*Shape]bool{}}
	g.whole(s)
	return g.reads
}

// extent returns the reads of an expression that only tests whether the value exists,
// or counts its elements. Such an expression does not depend on the generation of an
// object.
func (s *Shape) extent() []read {
	if s == nil {
		return nil
	}
	g := gathering{reads: slices.Clone(s.from)}
	for _, p := range s.paths {
		g.add(read{p.trail, p.role == changing, true})
	}
	return g.reads
}

// members returns the reads of an expression that searches the value for an element. Of a map, the keys alone count.
func (s *Shape) members() []read {
	all := slices.Clone(s.wholes())
	for i := range all {
		all[i].extent = all[i].extent || slices.ContainsFunc(s.paths, func(p path) bool { return p.trail == all[i].trail })
	}
	return all
}

// A gathering collects reads without duplicates.
type gathering struct {
	reads []read
	seen  map[*Shape]bool // lets may share parts, and double them each time
}

func (g *gathering) whole(s *Shape) {
	if s == nil || g.seen[s] {
		return
	}
	g.seen[s] = true
	for _, p := range s.paths {
		g.add(read{p.trail, p.role != ordinary, false})
	}
	for _, r := range s.from {
		g.add(r)
	}
	g.whole(s.elem)
	for _, key := range slices.Sorted(maps.Keys(s.fields)) {
		g.whole(s.fields[key])
	}
}

func (g *gathering) add(r read) {
	switch {
	case slices.Contains(g.reads, r):
	case len(g.reads) < maxReads:
		g.reads = append(g.reads, r)
	case r.volatile && !slices.ContainsFunc(g.reads, func(r read) bool { return r.volatile }):
		g.reads[maxReads-1] = r
	}
}

func unionReads(a, b []read) []read {
	if len(a) == 0 {
		return b
	}
	g := gathering{reads: slices.Clone(a)}
	for _, r := range b {
		g.add(r)
	}
	return g.reads
}

// Reads returns the variables that the expression mentions, sorted.
func (p *Program) Reads() []string { return p.reads }

// Paths returns the paths that the result depends on, such as self.metadata.name,
// sorted and without duplicates. It follows lets, whose shapes a Checked does not
// know. Values that do not influence the result are not among them, and of very many
// paths some are left out: Paths does not tell which fields an expression ignores.
func (p *Program) Paths() []string {
	var out []string
	for _, r := range p.shape.wholes() {
		out = append(out, r.trail)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// OwnRead returns a path that the result depends on, if the result is written there: to that path, to something above
// it, or to a part of a value that is read as a whole. It returns "" if the result depends on no such path.
func (p *Program) OwnRead(written string) string { return p.shape.ownRead(written) }

func (s *Shape) ownRead(written string) string {
	if s == nil {
		return ""
	}
	reads, keyed := s.wholes(), len(s.fields) > 0 && s.elem == nil && len(s.paths) == 0
	if keyed { // Its fields are written to paths of their own.
		reads = s.from
		for _, key := range s.Keys() {
			if trail := s.fields[key].ownRead(written + fieldStep(key)); trail != "" {
				return trail
			}
		}
	}
	for _, r := range reads {
		if r.trail == written || !keyed && IsOrBelow(r.trail, written) || !r.extent && IsOrBelow(written, r.trail) {
			return r.trail
		}
	}
	return ""
}

// IsOrBelow reports whether a path is another one, or leads to a part of what is there.
func IsOrBelow(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Copies returns the paths whose values the result may be, or have as an element.
func (p *Program) Copies() (trails []string) {
	for s := p.shape; s != nil; s = s.elem {
		for _, path := range s.paths {
			trails = append(trails, path.trail)
		}
	}
	return trails
}

// Volatile returns the first path that the result depends on and that changes with
// every write: the resourceVersion, generation or managedFields of an object, or
// anything that contains them.
func (p *Program) Volatile() (trail string, ok bool) {
	for _, r := range p.shape.wholes() {
		if r.volatile && (!ok || r.trail < trail) {
			trail, ok = r.trail, true
		}
	}
	return trail, ok
}
