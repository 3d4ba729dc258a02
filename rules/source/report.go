package source

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	window     = 120 // maximum number of characters of a line in a report
	maxReports = 100 // maximum number of errors in a report
)

// Report prints every error as compilers do, position and severity first, with its
// line of the file and a caret below its position.
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
	fmt.Fprintf(b, "%s: %s: %s\n", e.Pos, e.Severity, e.Text())
	if e.Excerpt == "" || e.Pos.Column < 1 {
		return
	}
	line, caret := trimLine(e.Excerpt, e.Pos.Column-1)
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
func trimLine(text string, caret int) ([]rune, int) {
	width := utf8.RuneCountInString(text)
	caret = min(caret, width)
	from := max(0, min(caret-window/2, width-window))
	line := make([]rune, 0, window)
	at := 0
	for _, r := range text {
		if at >= from && at < from+window {
			line = append(line, r)
		}
		at++
	}
	if from > 0 {
		line[0] = '…'
	}
	if from+window < width {
		line[window-1] = '…'
	}
	return line, caret - from
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

// stride is the number of characters between two marks of a ruler.
const stride = 256

// A ruler finds characters in a long line without reading the line again: a file may
// consist of a single line.
type ruler struct {
	marks []int // the byte of every stride-th character
	width int   // characters in the line
}

// ruler returns the ruler of a line, or nil for a short line.
func (t *text) ruler(line int) *ruler {
	s := t.line(line)
	if len(s) <= stride {
		return nil
	}
	r := t.rulers[line]
	if r != nil {
		return r
	}
	r = &ruler{}
	for i := range s {
		if r.width%stride == 0 {
			r.marks = append(r.marks, i)
		}
		r.width++
	}
	t.rulers[line] = r
	return r
}
