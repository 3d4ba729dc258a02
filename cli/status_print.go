package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/output"
)

// Formats of status.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

func formatStatus(report *statusReport, format string) ([]byte, error) {
	if format == formatYAML {
		return yaml.Marshal(report)
	}
	return output.JSON(report)
}

// A statusTable prints resources in columns. The first resources decide the widths.
type statusTable struct {
	to         io.Writer
	namespaces bool // a column for them
	wide       bool
	coloured   bool
	widths     []int
}

var stateColours = map[resourceState]string{
	stateStalled: output.Red, stateRetrying: output.Yellow, stateWaiting: output.Yellow, stateProgressing: output.Cyan, stateReady: output.Green,
}

// print writes a header on the first call, and a line for each resource.
func (t *statusTable) print(resources []resourceStatus, now time.Time) error {
	var b bytes.Buffer
	lines := make([][]string, 0, len(resources)+1)
	if t.widths == nil {
		lines = append(lines, t.header())
	}
	for i := range resources {
		lines = append(lines, t.line(&resources[i], now))
	}
	if t.widths == nil {
		t.measure(lines)
		t.write(&b, lines[0], "")
		lines = lines[1:]
	}
	for i, line := range lines {
		t.write(&b, line, stateColours[resources[i].State])
	}
	_, err := t.to.Write(b.Bytes())
	return err
}

func (t *statusTable) header() (line []string) {
	if t.namespaces {
		line = append(line, "NAMESPACE")
	}
	line = append(line, "KIND/NAME", "STATE", "REASON", "FOR")
	if t.wide {
		line = append(line, "GENERATION")
	}
	return append(line, "MESSAGE")
}

func (t *statusTable) line(r *resourceStatus, now time.Time) (line []string) {
	if t.namespaces {
		line = append(line, r.Namespace)
	}
	line = append(line, r.ref(), string(r.State), r.Reason, age(r.Since, now))
	message := printable(r.Message)
	if t.wide {
		line = append(line, generations(r))
	} else {
		message = firstOf(message)
	}
	return append(line, message)
}

// generations returns the observed and the current generation.
func generations(r *resourceStatus) string {
	if r.ObservedGeneration == 0 {
		return fmt.Sprintf("-/%d", r.Generation)
	}
	return fmt.Sprintf("%d/%d", r.ObservedGeneration, r.Generation)
}

// measure sets the width of each column but the last to its widest cell.
func (t *statusTable) measure(lines [][]string) {
	t.widths = make([]int, len(lines[0])-1)
	for _, line := range lines {
		for i := range t.widths {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(line[i]))
		}
	}
}

// write writes one line, with the colour of the state.
func (t *statusTable) write(b *bytes.Buffer, line []string, colour string) {
	state := 1
	if t.namespaces {
		state = 2
	}
	var text strings.Builder
	for i, cell := range line {
		if i == len(t.widths) {
			text.WriteString(cell)
			break
		}
		padding := strings.Repeat(" ", max(0, t.widths[i]-utf8.RuneCountInString(cell))+3)
		if i == state && t.coloured && colour != "" {
			cell = colour + cell + output.Normal
		}
		text.WriteString(cell + padding)
	}
	b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
}

// printable replaces control characters, which could move the cursor of a terminal:
// messages quote text that any user may have written.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// firstOf cuts a message to fit a line; -o wide prints it whole.
func firstOf(text string) string {
	const most = 160
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-3]) + "..."
}

// footer returns the problems, the leaders and the summary, for people.
func (r *statusReport) footer() string {
	var b strings.Builder
	for _, p := range r.Problems {
		if p.Type != noLeader { // The line about the leader says so.
			b.WriteString(printable(p.Message) + "\n")
		}
	}
	for _, l := range r.Leaders {
		fmt.Fprintf(&b, "leader of %s/%s: %s\n", l.Namespace, l.Name, printable(l.Message))
	}
	b.WriteString(r.Summary.String() + "\n")
	return b.String()
}

// String returns a text such as "3 stalled, 120 ready of 123 resources of 4 kinds".
func (s statusSummary) String() string {
	var parts []string
	for _, state := range resourceStates {
		if n := s.States[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	total := plural(s.Resources, "resource") + " of " + plural(s.Kinds, "kind")
	if len(parts) == 0 {
		return total
	}
	return strings.Join(parts, ", ") + " of " + total
}
