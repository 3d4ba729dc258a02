package layered

// A Size is that of a box or label.
type Size struct{ Width, Height float64 }

// A Point is a position: x grows to the right, y downwards.
type Point struct{ X, Y float64 }

// An Edge joins two boxes, which are indexes.
type Edge struct {
	From, To int
	Label    Size // zero: none
}

// A Layout says where everything is. The top left corner is the origin.
type Layout struct {
	Boxes  []Point // their centres
	Labels []Point // their centres, for each edge
	// Lines are the ways of the edges. Between points 0 and 1, 2 and 3, and so on, a line may
	// bend; between points 1 and 2, and so on, it is vertical. A loop has none.
	Lines [][]Point
	Size
}

// Distances between things.
const (
	betweenBoxes  = 28.0
	betweenLines  = 14.0
	betweenLayers = 26.0 // from a layer of boxes to one of labels
	betweenPorts  = 14.0 // of the lines at a box, if there is room
)

// New lays out a graph. It turns some edges around if there are cycles.
func New(boxes []Size, edges []Edge) Layout {
	g := newGraph(boxes, edges)
	g.order()
	g.placeLayers()
	g.placeColumns()
	return g.layout()
}

// A graph has boxes, and dummies where edges pass a layer.
type graph struct {
	nodes  []*node
	boxes  int
	edges  []Edge
	paths  [][]*node // of each edge from top to bottom; nil for loops
	turned []bool
	layers [][]*node
}

// A node is a box, a label, or the place where a line passes a layer.
type node struct {
	Size
	layer, at   int     // at is the index in its layer
	x, y        float64 // the centre
	above, next []*node
	isBox       bool
	isLabel     bool // in the middle of an edge, whether it has a label or not
}

func newGraph(boxes []Size, edges []Edge) *graph {
	g := &graph{boxes: len(boxes), edges: edges, turned: backwards(len(boxes), edges), paths: make([][]*node, len(edges))}
	ranks := rank(len(boxes), edges, g.turned)
	for i, size := range boxes {
		g.nodes = append(g.nodes, &node{Size: size, layer: 2 * ranks[i], isBox: true})
	}
	for i, e := range edges {
		if e.From != e.To {
			g.addPath(i, e)
		}
	}
	for _, n := range g.nodes {
		for len(g.layers) <= n.layer {
			g.layers = append(g.layers, nil)
		}
		n.at = len(g.layers[n.layer])
		g.layers[n.layer] = append(g.layers[n.layer], n)
	}
	return g
}

// addPath adds the dummies of an edge. The label is in the middle.
func (g *graph) addPath(i int, e Edge) {
	top, bottom := g.nodes[e.From], g.nodes[e.To]
	if g.turned[i] {
		top, bottom = bottom, top
	}
	middle := top.layer + (bottom.layer-top.layer)/2
	if middle%2 == 0 {
		middle--
	}
	path := []*node{top}
	for layer := top.layer + 1; layer < bottom.layer; layer++ {
		n := &node{layer: layer}
		if layer == middle {
			n.Size, n.isLabel = e.Label, true
		}
		g.nodes = append(g.nodes, n)
		path = append(path, n)
	}
	path = append(path, bottom)
	for j, n := range path[1:] {
		path[j].next = append(path[j].next, n)
		n.above = append(n.above, path[j])
	}
	g.paths[i] = path
}

// backwards finds the edges to turn around, so that there is no cycle.
func backwards(boxes int, edges []Edge) []bool {
	turned := make([]bool, len(edges))
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, boxes)
	from := outgoing(boxes, edges)
	var visit func(at int)
	visit = func(at int) {
		state[at] = open
		for _, i := range from[at] {
			switch to := edges[i].To; state[to] {
			case open:
				turned[i] = true
			case unseen:
				visit(to)
			}
		}
		state[at] = done
	}
	for at := range boxes {
		if state[at] == unseen {
			visit(at)
		}
	}
	return turned
}

func outgoing(boxes int, edges []Edge) [][]int {
	from := make([][]int, boxes)
	for i, e := range edges {
		from[e.From] = append(from[e.From], i)
	}
	return from
}

// rank returns the longest way to each box. A box without edges to it is as far down as
// possible, near what it is joined to.
func rank(boxes int, edges []Edge, turned []bool) []int {
	ranks, entered := make([]int, boxes), make([]bool, boxes)
	for changed := true; changed; {
		changed = false
		for i, e := range edges {
			from, to := e.ends(turned[i])
			if from == to {
				continue
			}
			entered[to] = true
			if ranks[to] <= ranks[from] {
				ranks[to], changed = ranks[from]+1, true
			}
		}
	}
	nearest := make([]int, boxes)
	for i, e := range edges {
		if from, to := e.ends(turned[i]); from != to && (nearest[from] == 0 || ranks[to] < nearest[from]) {
			nearest[from] = ranks[to]
		}
	}
	for at := range boxes {
		if !entered[at] && nearest[at] > 0 {
			ranks[at] = nearest[at] - 1
		}
	}
	return ranks
}

func (e Edge) ends(turned bool) (from, to int) {
	if turned {
		return e.To, e.From
	}
	return e.From, e.To
}
