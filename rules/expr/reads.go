package expr

import (
	"maps"
	"slices"
	"strings"
)

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
