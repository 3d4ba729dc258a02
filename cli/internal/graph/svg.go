package graph

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"reconcel/cli/internal/layered"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
)

// Measures of text, in pixels. A monospaced font has the same width on every machine.
const (
	advance     = 7.25 // of a character of 12px
	lineHeight  = 16.0
	padding     = 10.0
	margin      = 24.0
	titleHeight = 30.0
	keyHeight   = 34.0
)

// dark are the colours on a dark background.
var dark = map[rendered.State]colour{
	rendered.Ready:    {"#3fb950", "#0f2d18"},
	rendered.Waiting:  {"#d29922", "#332600"},
	rendered.Missing:  {"#a371f7", "#271052"},
	rendered.Failed:   {"#f85149", "#3d0f0e"},
	rendered.Excluded: {"#6e7681", "#161b22"},
	rendered.Unknown:  {"#8b949e", "#21262d"},
}

// A canvas is an SVG that grows.
type canvas struct {
	strings.Builder
	width, y float64
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// SVG draws the diagrams below each other. It follows the colour scheme of the reader.
func SVG(all []*Diagram) string {
	c := &canvas{y: margin}
	for i, d := range all {
		if i > 0 {
			c.y += margin
		}
		c.diagram(d)
	}
	c.key(all)
	var out canvas
	width, height := c.width+margin, c.y+margin
	out.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0[1]f %.0[2]f\" role=\"img\">\n", width, height)
	out.printf("<title>%s</title>\n<style>%s</style>\n", titles(all), style())
	out.printf("<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n")
	out.printf("<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n")
	out.WriteString(c.String())
	out.printf("</svg>\n")
	return out.String()
}

func titles(all []*Diagram) string {
	var names []string
	for _, d := range all {
		names = append(names, html.EscapeString(d.Title))
	}
	return strings.Join(names, ", ")
}

// style returns the classes. It has no variables, which some programs do not know.
func style() string {
	var b strings.Builder
	scheme := func(page, text, faint, line, box string, of map[rendered.State]colour) {
		fmt.Fprintf(&b, ".page,.back{fill:%s}text{fill:%s}.faint{fill:%s}.line{stroke:%s}.head{fill:%[4]s}.box{fill:%s;stroke:%[4]s}", page, text, faint, line, box)
		for _, s := range order {
			fmt.Fprintf(&b, ".%s .box{fill:%s;stroke:%s}", s, of[s].fill, of[s].stroke)
		}
	}
	b.WriteString("text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}.name{font-weight:bold}" +
		".line{fill:none;stroke-width:1.2}.decides{stroke-dasharray:5 4}.waits{stroke-width:2.6}.box{stroke-width:1.2}.lookup .box{stroke-dasharray:2 3}.primary .box{stroke-width:2.4}")
	scheme("#ffffff", "#1f2328", "#57606a", "#6e7781", "#ffffff", light)
	b.WriteString("@media(prefers-color-scheme:dark){")
	scheme("#0d1117", "#e6edf3", "#8b949e", "#7d8590", "#161b22", dark)
	b.WriteString("}")
	return b.String()
}

func textWidth(lines []string) (width float64) {
	for _, line := range lines {
		columns := 0
		for _, r := range line {
			if columns++; r >= 0x1100 { // Characters of East Asia are twice as wide; some others are not.
				columns++
			}
		}
		width = max(width, float64(columns)*advance)
	}
	return width
}

// diagram draws one rule.
func (c *canvas) diagram(d *Diagram) {
	var boxes []layered.Size
	for _, n := range d.Nodes {
		boxes = append(boxes, layered.Size{Width: textWidth(n.Lines) + 2*padding, Height: float64(len(n.Lines))*lineHeight + padding})
	}
	var edges []layered.Edge
	for _, e := range d.Edges {
		edge := layered.Edge{From: e.From, To: e.To}
		if len(e.Lines) > 0 {
			edge.Label = layered.Size{Width: textWidth(e.Lines) + padding/2, Height: float64(len(e.Lines))*lineHeight + 2}
		}
		edges = append(edges, edge)
	}
	l := layered.New(boxes, edges)
	c.printf("<text class=\"name\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", margin, c.y+lineHeight-4, html.EscapeString(d.Title))
	c.width = max(c.width, margin+textWidth([]string{d.Title}), margin+l.Width)
	c.y += titleHeight
	c.printf("<g transform=\"translate(%.0f %.1f)\">\n", margin, c.y)
	for i, e := range d.Edges {
		c.line(l.Lines[i], e)
	}
	for i, e := range d.Edges {
		if at := l.Labels[i]; len(e.Lines) > 0 {
			size := edges[i].Label
			c.printf("<rect class=\"back\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", at.X-size.Width/2, at.Y-size.Height/2, size.Width, size.Height)
			c.lines(e.Lines, at, "faint", "faint")
		}
	}
	for i, n := range d.Nodes {
		c.box(n, l.Boxes[i], boxes[i])
	}
	c.printf("</g>\n")
	c.y += l.Height
}

// line draws an edge: straight through layers, and curved between them.
func (c *canvas) line(points []layered.Point, e Edge) {
	c.printf("<path class=\"line%s\" marker-end=\"url(#head)\" d=\"M%.1f %.1f", []string{"", " decides", " waits"}[e.Style], points[0].X, points[0].Y)
	for i := 1; i < len(points); i += 2 {
		from, to := points[i-1], points[i]
		middle := (from.Y + to.Y) / 2
		c.printf("C%.1f %.1f %.1f %.1f %.1f %.1f", from.X, middle, to.X, middle, to.X, to.Y)
		if i+1 < len(points) {
			c.printf("L%.1f %.1f", points[i+1].X, points[i+1].Y)
		}
	}
	c.printf("\"/>\n")
}

func (c *canvas) box(n Node, at layered.Point, size layered.Size) {
	corner := 3.0
	switch n.Kind {
	case rules.PrimaryPart:
		corner = size.Height / 2
	case rules.PatchPart, rules.StatusPart, rules.ConditionPart:
		corner = 10
	}
	c.printf("<g class=\"%s\"><rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.0f\"/>",
		strings.TrimSpace(string(n.Kind)+" "+string(n.State)), at.X-size.Width/2, at.Y-size.Height/2, size.Width, size.Height, corner)
	c.lines(n.Lines, at, "name", "faint")
	c.printf("</g>\n")
}

// lines writes text around a point.
func (c *canvas) lines(lines []string, at layered.Point, first, others string) {
	top := at.Y - float64(len(lines))*lineHeight/2 + lineHeight - 4
	for i, line := range lines {
		class := first
		if i > 0 {
			class = others
		}
		c.printf("<text class=\"%s\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>", class, at.X, top+float64(i)*lineHeight, html.EscapeString(line))
	}
	c.printf("\n")
}

// key explains the lines and, if there are any, the colours.
func (c *canvas) key(all []*Diagram) {
	used, states := map[Style]bool{}, map[rendered.State]bool{}
	for _, d := range all {
		for _, e := range d.Edges {
			used[e.Style] = true
		}
		for _, s := range d.States() {
			states[s] = true
		}
	}
	c.y += keyHeight
	x := margin
	for s, word := range []string{"reads", "decides", "waits until ready"} {
		if used[Style(s)] {
			c.line([]layered.Point{{X: x, Y: c.y}, {X: x + 26, Y: c.y}}, Edge{Style: Style(s)})
			x = c.word(x+32, word)
		}
	}
	for _, s := range order {
		if states[s] {
			c.printf("<g class=\"%s\"><rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"12\" rx=\"3\"/></g>", s, x, c.y-6)
			x = c.word(x+20, string(s))
		}
	}
	c.width = max(c.width, x-margin)
}

// word writes a word of the key, and returns where the next one begins.
func (c *canvas) word(x float64, word string) float64 {
	c.printf("<text class=\"faint\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, c.y+4, word)
	return x + float64(utf8.RuneCountInString(word))*advance + 20
}
