package layered

import (
	"cmp"
	"slices"
)

// sweeps is how often order and placeColumns go down and up.
const sweeps = 12

// order sorts each layer by the mean position of its neighbours, and keeps the order with
// the fewest crossings.
func (g *graph) order() {
	best, fewest := g.positions(), g.crossings()
	for i := 0; i < sweeps && fewest > 0; i++ {
		for _, layer := range g.layers {
			sortLayer(layer, func(n *node) []*node { return n.above })
		}
		for _, layer := range slices.Backward(g.layers) {
			sortLayer(layer, func(n *node) []*node { return n.next })
		}
		if crossed := g.crossings(); crossed < fewest {
			best, fewest = g.positions(), crossed
		}
	}
	for i, n := range g.nodes {
		n.at = best[i]
	}
	for _, layer := range g.layers {
		slices.SortFunc(layer, func(a, b *node) int { return cmp.Compare(a.at, b.at) })
	}
}

func (g *graph) positions() []int {
	all := make([]int, len(g.nodes))
	for i, n := range g.nodes {
		all[i] = n.at
	}
	return all
}

func sortLayer(layer []*node, neighbours func(*node) []*node) {
	mean := map[*node]float64{}
	for _, n := range layer {
		mean[n] = float64(n.at)
		if all := neighbours(n); len(all) > 0 {
			sum := 0
			for _, other := range all {
				sum += other.at
			}
			mean[n] = float64(sum) / float64(len(all))
		}
	}
	slices.SortStableFunc(layer, func(a, b *node) int { return cmp.Compare(mean[a], mean[b]) })
	for i, n := range layer {
		n.at = i
	}
}

// crossings counts the pairs of lines that cross between two layers.
func (g *graph) crossings() (count int) {
	for _, layer := range g.layers {
		var ends []int // of the lines, from left to right
		for _, n := range layer {
			own := make([]int, len(n.next))
			for i, other := range n.next {
				own[i] = other.at
			}
			slices.Sort(own)
			for _, end := range own {
				for _, before := range ends {
					if before > end {
						count++
					}
				}
			}
			ends = append(ends, own...)
		}
	}
	return count
}
