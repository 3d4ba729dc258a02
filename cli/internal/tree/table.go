package tree

import (
	"strings"
	"time"
	"unicode/utf8"

	"reconcel/cli/internal/output"
)

// A Table prints trees and changes in columns. The first tree decides the widths.
type Table struct {
	Print    func(text []byte) error
	Wide     bool // whole messages
	Coloured bool
	widths   []int
}

var colours = map[State]string{
	stalled: output.Red, failed: output.Red, unread: output.Red, "retrying": output.Yellow, waiting: output.Yellow, missing: output.Yellow,
	kept: output.Cyan, excluded: output.Cyan, deleting: output.Cyan, deleted: output.Cyan, progressing: output.Cyan, ready: output.Green, done: output.Green,
}

// stateColumn is the column that has a colour.
const stateColumn = 2

// Write prints a tree with a header.
func (t *Table) Write(root *Node, now time.Time) error {
	lines := [][]string{{"NAMESPACE", "NAME", "STATE", "AGE", "MESSAGE"}}
	states := []State{""}
	root.walk(func(n *Node, prefix string) {
		lines, states = append(lines, t.line(n, prefix, now)), append(states, n.State)
	})
	t.widths = make([]int, len(lines[0])-1)
	for _, line := range lines {
		for i := range t.widths {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(line[i]))
		}
	}
	return t.format(lines, states)
}

// WriteChanges prints lines for nodes that have changed.
func (t *Table) WriteChanges(nodes []*Node, now time.Time) error {
	var lines [][]string
	var states []State
	for _, n := range nodes {
		lines, states = append(lines, t.line(n, "", now)), append(states, n.State)
	}
	return t.format(lines, states)
}

func (t *Table) line(n *Node, prefix string, now time.Time) []string {
	message := output.Printable(n.Message)
	if !t.Wide {
		message = output.Truncate(message)
	}
	return []string{n.Namespace, prefix + output.Printable(n.ref()), string(n.State), output.Age(n.Created, now), message}
}

func (t *Table) format(lines [][]string, states []State) error {
	var b strings.Builder
	for i, line := range lines {
		var text strings.Builder
		for column, width := range t.widths {
			padding := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(line[column]))+3)
			if colour := colours[states[i]]; column == stateColumn && t.Coloured && colour != "" {
				line[column] = colour + line[column] + output.Normal
			}
			text.WriteString(line[column] + padding)
		}
		text.WriteString(line[len(t.widths)])
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return t.Print([]byte(b.String()))
}
