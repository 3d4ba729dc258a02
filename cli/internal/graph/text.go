package graph

import (
	"fmt"
	"html"
	"strings"

	"reconcel/cli/internal/rendered"
	"reconcel/rules"
)

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
