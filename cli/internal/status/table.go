package status

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reconcel/cli/internal/output"
)

// A Table prints resources in columns. The first resources decide the widths.
type Table struct {
	Print      func(text []byte) error
	Namespaces bool // a column for them
	Wide       bool
	Coloured   bool
	widths     []int
}

var colours = map[State]string{
	stalled: output.Red, retrying: output.Yellow, waiting: output.Yellow, progressing: output.Cyan, ready: output.Green,
}

// Write prints a line for each resource, and a header on the first call.
func (t *Table) Write(resources []Resource, now time.Time) error {
	var lines [][]string
	for i := range resources {
		lines = append(lines, t.line(&resources[i], now))
	}
	var b strings.Builder
	if t.widths == nil {
		header := t.header()
		t.measure(append(slices.Clone(lines), header))
		t.format(&b, header, "")
	}
	for i, line := range lines {
		t.format(&b, line, colours[resources[i].State])
	}
	return t.Print([]byte(b.String()))
}

func (t *Table) header() (line []string) {
	if t.Namespaces {
		line = append(line, "NAMESPACE")
	}
	line = append(line, "KIND/NAME", "STATE", "REASON", "FOR")
	if t.Wide {
		line = append(line, "GENERATION")
	}
	return append(line, "MESSAGE")
}

func (t *Table) line(r *Resource, now time.Time) (line []string) {
	if t.Namespaces {
		line = append(line, r.Namespace)
	}
	line = append(line, r.ref(), string(r.State), r.Reason, output.Age(r.Since, now))
	message := output.Printable(r.Message)
	if t.Wide {
		return append(line, generations(r), message)
	}
	return append(line, output.Truncate(message))
}

// generations returns the observed and the current generation.
func generations(r *Resource) string {
	if r.ObservedGeneration == 0 {
		return fmt.Sprintf("-/%d", r.Generation)
	}
	return fmt.Sprintf("%d/%d", r.ObservedGeneration, r.Generation)
}

// measure sets the width of each column but the last to its widest cell.
func (t *Table) measure(lines [][]string) {
	t.widths = make([]int, len(lines[0])-1)
	for _, line := range lines {
		for i := range t.widths {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(line[i]))
		}
	}
}

// format writes one line, with the colour of the state.
func (t *Table) format(b *strings.Builder, line []string, colour string) {
	state := 1
	if t.Namespaces {
		state = 2
	}
	var text strings.Builder
	for i, width := range t.widths {
		padding := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(line[i]))+3)
		if i == state && t.Coloured && colour != "" {
			line[i] = colour + line[i] + output.Normal
		}
		text.WriteString(line[i] + padding)
	}
	text.WriteString(line[len(t.widths)])
	b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
}
