package layered

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// A rectangle is a box or label in a layout.
type rectangle struct {
	name                     string
	left, top, right, bottom float64
}

func around(name string, at Point, size Size) rectangle {
	return rectangle{name, at.X - size.Width/2, at.Y - size.Height/2, at.X + size.Width/2, at.Y + size.Height/2}
}

func (r rectangle) overlaps(o rectangle) bool {
	return r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom
}

// sound checks what holds for every layout.
func sound(t *testing.T, boxes []Size, edges []Edge) Layout {
	t.Helper()
	l := New(boxes, edges)
	var all []rectangle
	for i, at := range l.Boxes {
		all = append(all, around(fmt.Sprintf("box %d", i), at, boxes[i]))
	}
	inside := slices.Clone(all)
	for i, e := range edges {
		if e.Label != (Size{}) && e.From != e.To {
			all = append(all, around(fmt.Sprintf("label %d", i), l.Labels[i], e.Label))
		}
	}
	for i, r := range all {
		if r.left < -0.01 || r.top < -0.01 || r.right > l.Width+0.01 || r.bottom > l.Height+0.01 {
			t.Fatalf("%s is outside the picture", r.name)
		}
		for _, o := range all[:i] {
			if r.overlaps(o) {
				t.Fatalf("%s overlaps %s", r.name, o.name)
			}
		}
	}
	for i, line := range l.Lines {
		e := edges[i]
		if e.From == e.To {
			if line != nil {
				t.Fatalf("loop %d has a line", i)
			}
			continue
		}
		touches(t, line[0], inside[e.From])
		touches(t, line[len(line)-1], inside[e.To])
		for j := 2; j+1 < len(line); j += 2 {
			if line[j-1].X != line[j].X {
				t.Fatalf("line %d bends in a layer", i)
			}
		}
		crossesNone(t, line, inside)
	}
	if again := New(boxes, edges); !reflect.DeepEqual(l, again) {
		t.Fatal("a second layout differs")
	}
	return l
}

func touches(t *testing.T, p Point, r rectangle) {
	t.Helper()
	if p.X < r.left-0.01 || p.X > r.right+0.01 || p.Y != r.top && p.Y != r.bottom {
		t.Fatalf("a line ends at %v, and %s is at %v", p, r.name, r)
	}
}

// crossesNone checks the vertical parts of a line, which alone pass layers of boxes.
func crossesNone(t *testing.T, line []Point, boxes []rectangle) {
	t.Helper()
	for j := 1; j+1 < len(line); j += 2 {
		a, b := line[j], line[j+1]
		passing := rectangle{"line", a.X - 0.1, min(a.Y, b.Y), a.X + 0.1, max(a.Y, b.Y)}
		for _, r := range boxes {
			if passing.overlaps(r) {
				t.Fatalf("a line crosses %s", r.name)
			}
		}
	}
}

func TestNothingOverlaps(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var boxes []Size
		var edges []Edge
		for range 1 + random.IntN(20) {
			boxes = append(boxes, Size{40 + 100*random.Float64(), 20 + 40*random.Float64()})
		}
		for range random.IntN(40) {
			e := Edge{From: random.IntN(len(boxes)), To: random.IntN(len(boxes))}
			if random.IntN(2) == 0 {
				e.Label = Size{20 + 100*random.Float64(), 14}
			}
			edges = append(edges, e)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { sound(t, boxes, edges) })
	}
}

func TestEdgesPointDown(t *testing.T) {
	box := Size{60, 30}
	l := sound(t, []Size{box, box, box, box}, []Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 0, To: 2}, {From: 3, To: 2}})
	if !(l.Boxes[0].Y < l.Boxes[1].Y && l.Boxes[1].Y < l.Boxes[2].Y) {
		t.Errorf("the boxes of a chain are at %v", l.Boxes)
	}
	if l.Boxes[3].Y != l.Boxes[1].Y {
		t.Errorf("a box without edges to it is at %v, far from what it points to at %v", l.Boxes[3], l.Boxes[2])
	}
}

func TestCrossingsAreAvoided(t *testing.T) {
	box := Size{60, 30}
	g := newGraph([]Size{box, box, box, box, box, box}, []Edge{{From: 0, To: 5}, {From: 1, To: 4}, {From: 2, To: 3}})
	if g.order(); g.crossings() != 0 {
		t.Errorf("%d crossings are left", g.crossings())
	}
}

func TestEmptyGraph(t *testing.T) {
	if l := New(nil, nil); len(l.Boxes) != 0 || l.Width != 0 || l.Height != 0 {
		t.Errorf("an empty graph gives %v", l)
	}
}
