package report

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgsvg" // Save to files that end in .svg.
)

// chart is a plot of bars in groups, one bar for each competitor.
type chart struct {
	file    string
	title   string
	axis    string
	columns []string // the competitors
	groups  []group
}

// group is a figure of the results of one N.
type group struct {
	label  string
	rs     results
	figure figure
}

var colors = map[string]color.Color{
	Floor:          color.RGBA{R: 0xbb, G: 0xbb, B: 0xbb, A: 0xff},
	Baseline:       color.RGBA{R: 0x66, G: 0x99, B: 0xcc, A: 0xff},
	Applier:        color.RGBA{R: 0xdd, G: 0xcc, B: 0x99, A: 0xff},
	Reconcel:       color.RGBA{R: 0xee, G: 0x77, B: 0x33, A: 0xff},
	Kro:            color.RGBA{R: 0x77, G: 0xaa, B: 0x77, A: 0xff},
	Metacontroller: color.RGBA{R: 0xaa, G: 0x77, B: 0xaa, A: 0xff},
}

// charts returns times and CPU for each N, and the memory over all N.
func charts(all []Result) (drawn []chart) {
	ns, grouped := byN(all)
	columns := competitors(all)
	inMemory := chart{file: memory + ".svg", title: "Peak RSS", axis: "MB", columns: columns}
	for _, n := range ns {
		inTime := chart{file: fmt.Sprintf("%s-%d.svg", times, n), title: fmt.Sprintf("Time with %d Foos", n), axis: "seconds",
			columns: columns}
		inCPU := chart{file: fmt.Sprintf("%s-%d.svg", cpu, n), title: fmt.Sprintf("CPU with %d Foos", n),
			axis: "milliseconds for each Foo", columns: columns}
		for _, f := range figures {
			switch f.chart {
			case times:
				inTime.groups = append(inTime.groups, group{f.name, grouped[n], f})
			case cpu:
				inCPU.groups = append(inCPU.groups, group{f.name, grouped[n], f})
			case memory:
				inMemory.groups = append(inMemory.groups, group{fmt.Sprintf("%d Foos", n), grouped[n], f})
			}
		}
		drawn = append(drawn, inTime, inCPU)
	}
	return append(drawn, inMemory)
}

// Plots writes the plots as SVG into a folder, and returns Markdown that shows them, with
// links that are relative to the folder's parent.
func Plots(folder string, all []Result) (markdown string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, c := range charts(all) {
		if err := c.draw(filepath.Join(folder, c.file)); err != nil {
			return "", fmt.Errorf("plot %q: %w", c.title, err)
		}
		markdown += fmt.Sprintf("![%s](%s/%s)\n\n", c.title, filepath.Base(folder), c.file)
	}
	return markdown, nil
}

// draw saves the chart, 8 cm high and 4 cm wide for each group.
func (c chart) draw(path string) error {
	const barWidth = vg.Length(14)
	p := plot.New()
	p.Title.Text, p.Y.Label.Text, p.Y.Min = c.title, c.axis, 0
	p.Legend.Top, p.Title.Padding = true, vg.Points(4)
	labels := make([]string, 0, len(c.groups))
	for _, g := range c.groups {
		labels = append(labels, g.label)
	}
	for i, competitor := range c.columns {
		values := make(plotter.Values, 0, len(c.groups))
		for _, g := range c.groups {
			value, _ := g.rs.median(g.figure, competitor) // No bar is a bar of no height.
			values = append(values, value)
		}
		bars, err := plotter.NewBarChart(values, barWidth)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = colors[competitor], 0
		bars.Offset = barWidth * vg.Length(i-len(c.columns)/2)
		p.Add(bars)
		p.Legend.Add(competitor, bars)
	}
	p.NominalX(labels...)
	p.X.Min, p.X.Max = -0.5, float64(len(labels))-0.5
	p.Y.Max *= 1.3 // Leave room for the legend.
	return p.Save(5*vg.Centimeter+4*vg.Centimeter*vg.Length(len(c.groups)), 8*vg.Centimeter, path)
}
