package layered

import (
	"cmp"
	"math"
	"slices"
)

// placeLayers sets the heights of all nodes.
func (g *graph) placeLayers() {
	y := 0.0
	for _, layer := range g.layers {
		height := 0.0
		for _, n := range layer {
			height = max(height, n.Height)
		}
		for _, n := range layer {
			n.y = y + height/2
			if !n.isBox {
				n.Height = height // The line stays vertical as long as it passes the layer.
			}
		}
		y += height + betweenLayers
	}
}

// placeColumns moves each node as near to its neighbours as the others in its layer allow.
func (g *graph) placeColumns() {
	for _, layer := range g.layers {
		for i, n := range layer {
			if i > 0 {
				n.x = layer[i-1].x + distance(layer[i-1], n)
			}
		}
	}
	for range sweeps {
		for _, layer := range g.layers {
			align(layer, func(n *node) []*node { return n.above })
		}
		for _, layer := range slices.Backward(g.layers) {
			align(layer, func(n *node) []*node { return n.next })
		}
	}
	for _, layer := range g.layers {
		align(layer, func(n *node) []*node { return slices.Concat(n.above, n.next) })
	}
	left := math.Inf(1)
	for _, n := range g.nodes {
		left = min(left, n.x-n.Width/2)
	}
	for _, n := range g.nodes {
		n.x -= left
	}
}

// distance is the least distance between the centres of two neighbours in a layer.
func distance(a, b *node) float64 {
	space := betweenLines
	if a.Width > 0 && b.Width > 0 {
		space = betweenBoxes
	}
	return (a.Width+b.Width)/2 + space
}

// A block is nodes of a layer that touch each other.
type block struct {
	nodes         int
	sum, weight   float64 // of what they want
	offsetOfFirst float64
}

func (b block) mean() float64 { return b.sum / b.weight }

// align moves the nodes of a layer to the means of their neighbours. If they want to be too
// near to each other, they move together, by the least squares.
func align(layer []*node, neighbours func(*node) []*node) {
	var blocks []block
	offset := 0.0
	offsets := make([]float64, len(layer))
	for i, n := range layer {
		if i > 0 {
			offset += distance(layer[i-1], n)
		}
		offsets[i] = offset
		want, weight := wanted(n, neighbours(n))
		blocks = append(blocks, block{1, weight * (want - offset), weight, offset})
		for len(blocks) > 1 && blocks[len(blocks)-2].mean() > blocks[len(blocks)-1].mean() {
			last := blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			before := &blocks[len(blocks)-1]
			before.nodes += last.nodes
			before.sum += last.sum
			before.weight += last.weight
		}
	}
	at := 0
	for _, b := range blocks {
		for range b.nodes {
			layer[at].x = b.mean() + offsets[at]
			at++
		}
	}
}

// wanted returns where a node wants to be, and how much. Long lines want to be straight.
func wanted(n *node, neighbours []*node) (x, weight float64) {
	if len(neighbours) == 0 {
		return n.x, 0.1
	}
	total := 0.0
	for _, other := range neighbours {
		w := 1.0
		if !n.isBox && !other.isBox {
			w = 8
		}
		x += w * other.x
		total += w
	}
	return x / total, total
}

// layout returns the result.
func (g *graph) layout() (out Layout) {
	for _, n := range g.nodes {
		out.Width, out.Height = max(out.Width, n.x+n.Width/2), max(out.Height, n.y+n.Height/2)
	}
	for _, n := range g.nodes[:g.boxes] {
		out.Boxes = append(out.Boxes, Point{n.x, n.y})
	}
	out.Labels, out.Lines = make([]Point, len(g.edges)), make([][]Point, len(g.edges))
	down, up := g.ports()
	for i, path := range g.paths {
		if path == nil {
			continue
		}
		first, last := path[0], path[len(path)-1]
		line := []Point{{down[i], first.y + first.Height/2}}
		for _, n := range path[1 : len(path)-1] {
			line = append(line, Point{n.x, n.y - n.Height/2}, Point{n.x, n.y + n.Height/2})
			if n.isLabel {
				out.Labels[i] = Point{n.x, n.y}
			}
		}
		line = append(line, Point{up[i], last.y - last.Height/2})
		if g.turned[i] {
			slices.Reverse(line)
		}
		out.Lines[i] = line
	}
	return out
}

// ports returns where each edge leaves the box above it, and where it enters the one below.
func (g *graph) ports() (down, up []float64) {
	down, up = make([]float64, len(g.edges)), make([]float64, len(g.edges))
	for _, n := range g.nodes[:g.boxes] {
		g.spread(n, down, func(path []*node) (end, other *node) { return path[0], path[1] })
		g.spread(n, up, func(path []*node) (end, other *node) { return path[len(path)-1], path[len(path)-2] })
	}
	return down, up
}

// spread gives the lines at one side of a box places beside each other.
func (g *graph) spread(n *node, places []float64, ends func(path []*node) (end, other *node)) {
	var here []int
	toward := map[int]float64{}
	for i, path := range g.paths {
		if path == nil {
			continue
		}
		if end, other := ends(path); end == n {
			here = append(here, i)
			toward[i] = other.x
		}
	}
	slices.SortStableFunc(here, func(a, b int) int { return cmp.Compare(toward[a], toward[b]) })
	step := 0.0
	if len(here) > 1 {
		step = min(betweenPorts, n.Width*0.8/float64(len(here)-1))
	}
	for k, i := range here {
		places[i] = n.x + (float64(k)-float64(len(here)-1)/2)*step
	}
}
