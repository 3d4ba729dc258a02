package graph

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
)

// A Diagram is the graph of one rule, for one resource or for any. The playground draws its JSON.
type Diagram struct {
	Title string `json:"title"`
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges,omitempty"`
}

// A Node is a part of a rule.
type Node struct {
	Kind  rules.PartKind `json:"kind"`
	Lines []string       `json:"lines"`           // the first one is the name
	State rendered.State `json:"state,omitempty"` // a simple one; "": not known, or it has none
	id    string         // of the part
}

// An Edge points from what is read to the reader.
type Edge struct {
	From  int      `json:"from"` // indexes of Nodes
	To    int      `json:"to"`
	Lines []string `json:"lines,omitempty"`
	Style Style    `json:"style"`
}

// A Style is how an edge is drawn.
type Style string

// The styles, from the weakest to the strongest.
const (
	Reads   Style = "reads"
	Decides Style = "decides"
	Waits   Style = "waits" // bold: nothing is applied before
)

// mostFields is how many fields an edge names.
const mostFields = 3

// mostText is the length of a line of a node or edge.
const mostText = 44

// OfProgram returns the diagrams of all rules.
func OfProgram(program *rules.Program) (all []*Diagram) {
	for _, p := range program.Primaries() {
		all = append(all, OfPrimary(p)...)
	}
	return all
}

// OfPrimary returns the diagrams of the rules for a kind.
func OfPrimary(p *rules.Primary) (all []*Diagram) {
	for _, r := range p.Rules {
		all = append(all, Of(r))
	}
	return all
}

// Of returns the diagram of a rule.
func Of(rule *rules.Rule) *Diagram {
	g := rule.Graph()
	d := &Diagram{Title: "rule " + rule.Name}
	for _, p := range g.Parts {
		d.Nodes = append(d.Nodes, nodeOf(p))
	}
	for _, e := range g.Edges {
		d.Edges = append(d.Edges, edgeOf(g, e))
	}
	return d
}

func nodeOf(p rules.Part) Node {
	n := Node{Kind: p.Kind, id: p.ID}
	add := func(format string, args ...any) { n.Lines = append(n.Lines, short(fmt.Sprintf(format, args...))) }
	many := ""
	if p.Many {
		many = ", any number"
	}
	switch p.Kind {
	case rules.PrimaryPart:
		add("%s", p.Object.Kind)
	case rules.LookupPart:
		add("%s", p.ID)
		add("lookup of %s%s", p.Object.Kind, many)
	case rules.ChildPart:
		add("%s", p.ID)
		add("%s%s", p.Object.Kind, many)
	case rules.FinalizePart:
		add("%s", p.ID)
		add("%s, on deletion", p.Object.Kind)
	case rules.ConditionPart:
		add("condition %s", p.ID)
	default:
		add("%s", string(p.Kind))
	}
	if p.Kind == rules.StatusPart {
		add("%s", strings.Join(p.Fields, ", "))
	}
	for _, e := range []struct{ word, text string }{{"when", p.When}, {"readyWhen", p.ReadyWhen},
		{"failWhen", p.FailWhen}} {
		if e.text != "" {
			add("%s: %s", e.word, strings.Join(strings.Fields(e.text), " "))
		}
	}
	return n
}

// edgeOf names what is read. It names no fields of the primary, which nearly everything
// reads.
func edgeOf(g rules.Graph, e rules.Edge) Edge {
	out := Edge{From: e.Read, To: e.Reader, Style: Reads}
	add := func(is bool, word string, style Style) {
		if is {
			out.Lines, out.Style = append(out.Lines, word), style
		}
	}
	add(e.When, "when", Decides)
	add(e.Ready, "readyWhen", Decides)
	add(e.Waits && len(e.Fields) == 0, "after", Waits)
	add(e.Waits && len(e.Fields) > 0, "when ready", Waits)
	if e.Previous {
		out.Lines = append(out.Lines, "previous")
	}
	if g.Parts[e.Read].Kind == rules.PrimaryPart {
		return out
	}
	for i, field := range e.Fields {
		if i == mostFields {
			out.Lines = append(out.Lines, fmt.Sprintf("and %d more", len(e.Fields)-i))
			break
		}
		out.Lines = append(out.Lines, short(field))
	}
	return out
}

// short limits a line.
func short(text string) string {
	text = output.Printable(text)
	if utf8.RuneCountInString(text) <= mostText {
		return text
	}
	return string([]rune(text)[:mostText-1]) + "…"
}

// order is that of the states, from good to unknown.
var order = []rendered.State{rendered.Ready, rendered.Waiting, rendered.Missing, rendered.Failed, rendered.Excluded,
	rendered.Unknown}

// A colour is that of a state: the border and the inside of a box.
type colour struct{ stroke, fill string }

// light are the colours on a light background. They are also told apart by their words.
var light = map[rendered.State]colour{
	rendered.Ready:    {"#1a7f37", "#dafbe1"},
	rendered.Waiting:  {"#9a6700", "#fff8c5"},
	rendered.Missing:  {"#8250df", "#fbefff"},
	rendered.Failed:   {"#cf222e", "#ffebe9"},
	rendered.Excluded: {"#8c959f", "#f6f8fa"},
	rendered.Unknown:  {"#57606a", "#eaeef2"},
}

// Mermaid returns the diagrams as one flowchart.
func Mermaid(all []*Diagram) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, d := range all {
		fmt.Fprintf(&b, "  subgraph r%d[%s]\n", i, mermaidText(d.Title))
		for j, n := range d.Nodes {
			left, right := "[", "]"
			switch n.Kind {
			case rules.PrimaryPart:
				left, right = "([", "])"
			case rules.LookupPart:
				left, right = "[/", "/]"
			case rules.ValidatePart:
				left, right = "{{", "}}"
			case rules.StatusPart, rules.ConditionPart, rules.PatchPart:
				left, right = "(", ")"
			}
			fmt.Fprintf(&b, "    r%dn%d%s%s%s\n", i, j, left, mermaidText(n.Lines...), right)
		}
		for _, e := range d.Edges {
			label := ""
			if len(e.Lines) > 0 {
				label = "|" + mermaidText(e.Lines...) + "|"
			}
			fmt.Fprintf(&b, "    r%dn%d %s%s r%dn%d\n", i, e.From,
				map[Style]string{Reads: "-->", Decides: "-.->", Waits: "==>"}[e.Style], label, i, e.To)
		}
		b.WriteString("  end\n")
	}
	for _, s := range order {
		var nodes []string
		for i, d := range all {
			for j, n := range d.Nodes {
				if n.State == s {
					nodes = append(nodes, fmt.Sprintf("r%dn%d", i, j))
				}
			}
		}
		if len(nodes) > 0 {
			fmt.Fprintf(&b, "  classDef %s stroke:%s,fill:%s,color:#1f2328\n  class %s %[1]s\n", s, light[s].stroke,
				light[s].fill, strings.Join(nodes, ","))
		}
	}
	return b.String()
}

// mermaidText quotes lines. Mermaid has no escapes in quotes but entities.
func mermaidText(lines ...string) string {
	var out []string
	for _, line := range lines {
		line = html.EscapeString(line)
		out = append(out, strings.NewReplacer("&#34;", "#quot;", "&#39;", "#39;", "&amp;", "#amp;", "&lt;", "#lt;", "&gt;",
			"#gt;", "`", "#96;", "\\", "#92;").Replace(line))
	}
	return `"` + strings.Join(out, "<br>") + `"`
}

// DOT returns the diagrams for Graphviz.
func DOT(all []*Diagram) string {
	var b strings.Builder
	b.WriteString("digraph rules {\n  node [shape=box, style=filled, fillcolor=white, fontname=\"Helvetica\"]\n  edge " +
		"[fontname=\"Helvetica\", fontsize=10]\n")
	for i, d := range all {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s\n", i, dotText(d.Title))
		for j, n := range d.Nodes {
			more := ""
			if c, known := light[n.State]; known {
				more = fmt.Sprintf(", color=%q, fillcolor=%q", c.stroke, c.fill)
			}
			fmt.Fprintf(&b, "    r%dn%d [label=%s, shape=%s%s]\n", i, j, dotText(n.Lines...), dotShape(n.Kind), more)
		}
		for _, e := range d.Edges {
			fmt.Fprintf(&b, "    r%dn%d -> r%dn%d [label=%s, style=%s]\n", i, e.From, i, e.To, dotText(e.Lines...),
				map[Style]string{Reads: "solid", Decides: "dashed", Waits: "bold"}[e.Style])
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func dotShape(kind rules.PartKind) string {
	switch kind {
	case rules.PrimaryPart:
		return "oval"
	case rules.LookupPart:
		return "parallelogram"
	case rules.ValidatePart:
		return "hexagon"
	}
	return "box"
}

func dotText(lines ...string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return `"` + strings.ReplaceAll(quoted.Replace(strings.Join(lines, "\n")), "\n", `\n`) + `"`
}
