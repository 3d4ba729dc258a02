package expr

import (
	"maps"
	"slices"
)

// A read is a place that a value was computed from.
type read struct {
	trail string
	// volatile says that what was read there changes by itself.
	volatile bool
}

// maxReads bounds what a value remembers of where it was computed from. Of
// what changes by itself, something is always remembered.
const maxReads = 64

// Computed is the shape of a value that is made from others, such as text.
func Computed(parts ...*Shape) *Shape {
	g := gathering{seen: map[*Shape]bool{}}
	for _, p := range parts {
		g.whole(p)
	}
	return (*Shape)(nil).with(g.reads)
}

// with returns the shape of a value like s, on which these reads have a say.
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

// wholes returns what is read by whoever uses all of the value.
func (s *Shape) wholes() []read {
	g := gathering{seen: map[*Shape]bool{}}
	g.whole(s)
	return g.reads
}

// extent returns what is read by whoever only looks whether the value is
// there, or how many elements it has. To read an object so is not to read its
// generation.
func (s *Shape) extent() []read {
	if s == nil {
		return nil
	}
	g := gathering{reads: slices.Clone(s.from)}
	for _, p := range s.paths {
		g.add(read{p.trail, p.role == changing})
	}
	return g.reads
}

// A gathering collects reads without repeats.
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
		g.add(read{p.trail, p.role != ordinary})
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

// Paths returns the places in variables that have a say in the result, as
// trails such as self.metadata.name, sorted and without repeats: those that it
// is, those that it is computed from, and those that decide about it, also
// through lets. (That takes the shapes of the lets, which a Checked does not
// know yet.) What is read and then dropped is not among them, and of very many
// places some may be missing: it does not tell which fields can be forgotten.
func (p *Program) Paths() []string {
	var out []string
	for _, r := range p.shape.wholes() {
		out = append(out, r.trail)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Volatile returns the first place that has a say in the result and changes by
// itself: the resourceVersion, generation or managedFields of an object, or
// anything that contains them.
func (p *Program) Volatile() (trail string, ok bool) {
	for _, r := range p.shape.wholes() {
		if r.volatile && (!ok || r.trail < trail) {
			trail, ok = r.trail, true
		}
	}
	return trail, ok
}
