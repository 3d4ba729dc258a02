package report

import (
	"fmt"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"
)

// Scaling is what reconcel needed for one size of a workload.
type Scaling struct {
	Size int
	Time time.Duration // until all Deployments exist
	CPU  time.Duration // for that, until it rests
	Peak int64         // bytes that were resident at most

	Change       time.Duration // from one change until the first Deployment shows it
	ChangeCPU    time.Duration // for that, until it rests
	ChangeWrites int           // requests that changed something, without Events
}

// ScalingTable returns the measurements in Markdown. what is counted by the size, and changed
// is the change that was made.
func ScalingTable(what, changed string, all []Scaling) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The change: %s.\n\n", changed)
	fmt.Fprintf(&b, "| %s | all Deployments (s) | CPU (ms) | peak RSS (MB) | the change: first Deployment (ms) | CPU "+
		"(ms) | writes |\n|---|---|---|---|---|---|---|\n", what)
	for _, s := range all {
		fmt.Fprintf(&b, "| %d | %.1f | %.0f | %.0f | %.0f | %.0f | %d |\n", s.Size, s.Time.Seconds(), milliseconds(s.CPU),
			megabytes(s.Peak),
			milliseconds(s.Change), milliseconds(s.ChangeCPU), s.ChangeWrites)
	}
	return b.String() + "\n"
}

// ScalingPlots writes plots of the memory and of the change into a folder, and returns
// Markdown that shows them, with links that are relative to the folder's parent.
func ScalingPlots(folder, name, what string, all []Scaling) (markdown string, err error) {
	peaks, changes := make(plotter.XYs, len(all)), make(plotter.XYs, len(all))
	for i, s := range all {
		peaks[i] = plotter.XY{X: float64(s.Size), Y: megabytes(s.Peak)}
		changes[i] = plotter.XY{X: float64(s.Size), Y: milliseconds(s.ChangeCPU)}
	}
	for _, c := range []curves{
		{file: name + "-memory.svg", title: "Peak RSS", x: what, y: "MB", lines: []any{"reconcel", peaks}},
		{file: name + "-change.svg", title: "CPU of one change", x: what, y: "ms", lines: []any{"reconcel", changes}},
	} {
		shown, err := c.draw(folder)
		if err != nil {
			return "", err
		}
		markdown += shown
	}
	return markdown, nil
}
