package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"
)

// Growth is what reconcel needed to create the Deployments of N Foos.
type Growth struct {
	N        int
	Children int           // Deployments for each Foo
	Time     time.Duration // until all Deployments and statuses are as wanted

	Reconcel        Used // since its start, until it rests
	APIServer, Etcd Used // in the same time
}

// Used is what a process has used.
type Used struct {
	CPU  time.Duration
	Peak int64 // bytes that were resident at most
}

// String is for people who watch the progress.
func (u Used) String() string {
	return fmt.Sprintf("CPU %.1f s and peak %d MB", u.CPU.Seconds(), u.Peak/1e6)
}

// perDeployment is how many KiB one more Deployment may cost.
const perDeployment = 3

// model is a straight line: bytes = fixed + perFoo × Foos.
type model struct{ fixed, perFoo float64 }

// fit returns the line with the least squares, and false if it is not determined.
func fit(points plotter.XYs) (model, bool) {
	var sumX, sumY float64
	for _, p := range points {
		sumX += p.X
		sumY += p.Y
	}
	n := float64(len(points))
	var xx, xy float64
	for _, p := range points {
		xx += (p.X - sumX/n) * (p.X - sumX/n)
		xy += (p.X - sumX/n) * (p.Y - sumY/n)
	}
	if xx == 0 {
		return model{}, false
	}
	return model{fixed: (sumY - xy/xx*sumX) / n, perFoo: xy / xx}, true
}

// peaks returns the points of Foos and bytes, by Deployments for each Foo.
func peaks(grown []Growth) map[int]plotter.XYs {
	points := map[int]plotter.XYs{}
	for _, g := range grown {
		points[g.Children] = append(points[g.Children], plotter.XY{X: float64(g.N), Y: float64(g.Reconcel.Peak)})
	}
	return points
}

// GrowthTable returns the measurements in Markdown, the model of the memory, and why there are no
// more: end is empty if all were made.
func GrowthTable(grown []Growth, end string) string {
	var b strings.Builder
	b.WriteString("| Foos | Deployments for each | time (s) | reconcel: CPU for each Foo (ms) | peak RSS (MB) " +
		"| API server: CPU for each Foo (ms) | peak RSS (MB) | etcd: CPU for each Foo (ms) | peak RSS (MB) |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range grown {
		fmt.Fprintf(&b, "| %d | %d | %.1f |", g.N, g.Children, g.Time.Seconds())
		for _, used := range []Used{g.Reconcel, g.APIServer, g.Etcd} {
			fmt.Fprintf(&b, " %.2f | %.0f |", milliseconds(used.CPU)/float64(g.N), megabytes(used.Peak))
		}
		b.WriteString("\n")
	}
	if end != "" {
		fmt.Fprintf(&b, "\nThe growth ended at %s.\n", end)
	}
	b.WriteString("\n")
	points, models := peaks(grown), map[int]model{}
	for _, children := range slices.Sorted(maps.Keys(points)) {
		if m, ok := fit(points[children]); ok {
			models[children] = m
			fmt.Fprintf(&b, "- With %d: %.0f MB and %.1f KiB for each Foo.\n", children, m.fixed/1e6, m.perFoo/1024)
		}
	}
	if counts := slices.Sorted(maps.Keys(models)); len(counts) > 1 {
		least, most := counts[0], counts[len(counts)-1]
		each := (models[most].perFoo - models[least].perFoo) / 1024 / float64(most-least)
		fmt.Fprintf(&b, "- Each additional Deployment: %.1f KiB. Must be ≤ %d: %s.\n", each, perDeployment,
			holding(each <= perDeployment, true))
	}
	return b.String() + "\n"
}

// GrowthPlot writes a plot of the memory into a folder, and returns Markdown that shows
// it, with a link that is relative to the folder's parent.
func GrowthPlot(folder string, grown []Growth) (markdown string, err error) {
	var lines []any
	points := peaks(grown)
	for _, children := range slices.Sorted(maps.Keys(points)) {
		line := slices.Clone(points[children])
		for i := range line {
			line[i].Y = megabytes(int64(line[i].Y))
		}
		lines = append(lines, fmt.Sprintf("Deployments for each: %d", children), line)
	}
	return curves{file: "growth.svg", title: "Peak RSS of reconcel", x: "Foos", y: "MB", lines: lines}.draw(folder)
}
