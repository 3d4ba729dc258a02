package source

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

const (
	window     = 120 // maximum number of characters of a line in a report
	maxReports = 100 // maximum number of errors in a report
)

// Report prints every error with its line of the file, and a caret below its
// position.
func (es Errors) Report(w io.Writer) error {
	var b strings.Builder
	for _, e := range es[:min(len(es), maxReports)] {
		e.report(&b)
	}
	if more := len(es) - maxReports; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Error) report(b *strings.Builder) {
	b.WriteString(e.Error())
	b.WriteByte('\n')
	line := []rune(e.Excerpt)
	if len(line) == 0 || e.Pos.Column < 1 {
		return
	}
	line, caret := trimLine(line, min(e.Pos.Column-1, len(line)))
	fmt.Fprintf(b, "%5d | ", e.Pos.Line)
	for _, r := range line {
		b.WriteRune(printableRune(r))
	}
	b.WriteString("\n      | ")
	for _, r := range line[:caret] {
		b.WriteString(blanksFor(r))
	}
	b.WriteString("^\n")
}

// trimLine cuts a long line to a window around the caret.
func trimLine(line []rune, caret int) ([]rune, int) {
	if len(line) <= window {
		return line, caret
	}
	from := max(0, min(caret-window/2, len(line)-window))
	to := from + window
	cut := append([]rune(nil), line[from:to]...)
	if from > 0 {
		cut[0] = '…'
	}
	if to < len(line) {
		cut[window-1] = '…'
	}
	return cut, caret - from
}

// printableRune replaces characters that could control a terminal.
func printableRune(r rune) rune {
	if r == '\t' || unicode.IsPrint(r) || unicode.Is(unicode.Mn, r) {
		return r
	}
	return unicode.ReplacementChar
}

// blanksFor returns blanks with the width of r on a terminal.
func blanksFor(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case unicode.In(r, unicode.Mn, unicode.Me):
		return ""
	case isWide(r):
		return "  "
	}
	return " "
}

// isWide reports whether a character takes two cells on a terminal: CJK, Hangul,
// fullwidth forms and emoji.
func isWide(r rune) bool {
	kind := width.LookupRune(r).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}
