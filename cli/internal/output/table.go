package output

import (
	"strings"
	"unicode/utf8"
)

// A Table prints lines in columns. The first lines decide the widths.
type Table struct {
	Print    func(text []byte) error
	Wide     bool // whole messages
	Coloured bool
	widths   []int
}

// A Line is one line of a table.
type Line struct {
	names, cells []string
	colour       string
	coloured     int // the index of a cell
}

// Add adds a cell to a column.
func (l *Line) Add(column, text string) {
	l.names, l.cells = append(l.names, column), append(l.cells, Printable(text))
}

// AddState adds a cell with a colour.
func (l *Line) AddState(text, colour string) {
	l.coloured, l.colour = len(l.cells), colour
	l.Add("STATE", text)
}

// AddMessage adds the last cell. Only a wide table has it whole.
func (l *Line) AddMessage(text string, t *Table) {
	if text = Printable(text); !t.Wide {
		text = Truncate(text)
	}
	l.Add("MESSAGE", text)
}

// Write prints lines, on the first call below a header.
func (t *Table) Write(lines ...Line) error {
	if t.widths == nil && len(lines) > 0 {
		lines = append([]Line{{cells: lines[0].names}}, lines...)
		t.widths = make([]int, len(lines[0].cells)-1)
		for _, line := range lines {
			for i := range t.widths {
				t.widths[i] = max(t.widths[i], utf8.RuneCountInString(line.cells[i]))
			}
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line.cells {
			padding := ""
			if i < len(t.widths) {
				padding = strings.Repeat(" ", max(0, t.widths[i]-utf8.RuneCountInString(cell))+3)
			}
			if i == line.coloured && t.Coloured && line.colour != "" {
				cell = line.colour + cell + Normal
			}
			text.WriteString(cell + padding)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return t.Print([]byte(b.String()))
}
