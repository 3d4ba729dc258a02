package report

import (
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// curves is a plot of lines, from 0 on.
type curves struct {
	file, title string
	x, y        string // names of the axes
	lines       []any  // name and points of each, as for plotutil.AddLinePoints
}

// draw writes the plot into a folder, and returns Markdown that shows it, with a link that
// is relative to the folder's parent.
func (c curves) draw(folder string) (markdown string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text, p.X.Min, p.Y.Min = c.title, c.x, c.y, 0, 0
	p.Legend.Top, p.Legend.Left = true, true
	if err := plotutil.AddLinePoints(p, c.lines...); err != nil {
		return "", fmt.Errorf("plot %q: %w", c.title, err)
	}
	if err := p.Save(16*vg.Centimeter, 8*vg.Centimeter, filepath.Join(folder, c.file)); err != nil {
		return "", fmt.Errorf("plot %q: %w", c.title, err)
	}
	return fmt.Sprintf("![%s](%s/%s)\n", c.title, filepath.Base(folder), c.file), nil
}
