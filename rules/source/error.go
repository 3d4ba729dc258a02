package source

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// A Severity says what a mistake means for the rules.
type Severity int

// Severities, as compilers name them.
const (
	SeverityError   Severity = iota // the rules must not run
	SeverityWarning                 // the rules may fail for some objects
	SeverityNote                    // something could not be checked
)

// String returns error, warning or note.
func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// An Error is one mistake in a file, with a message for the author.
type Error struct {
	Pos      Pos
	Severity Severity
	Rule     string // name of the rule, or ""
	Message  string // subject first, lower case, no full stop
	Hint     string // what to write instead, or ""
	Excerpt  string // the line of the file at Pos, or ""
	Check    string // the name of the check that found it, or ""
}

// NewError returns an error without an excerpt, which Collect adds.
func NewError(pos Pos, rule, message, hint string) *Error {
	return &Error{Pos: pos, Rule: rule, Message: message, Hint: hint}
}

// Emptied is a hint for a file without content.
const Emptied = "> empties a file before the command runs: if it failed, run it again, for reconcel crd with -o " +
	"instead of >; or delete the file"

// Error prints position and text in one line.
func (e *Error) Error() string { return e.Pos.String() + ": " + e.Text() }

// Text returns rule, message, hint and check in one line.
func (e *Error) Text() (s string) {
	if e.Rule != "" {
		s = "rule \"" + e.Rule + "\": "
	}
	s += e.Message
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	if e.Check != "" {
		s += " [" + e.Check + "]"
	}
	return s
}

// Errors are sorted by file, in the order of the arguments, then by position.
type Errors []*Error

// Collect sorts errors, removes duplicates, and adds the line of the file to each.
func Collect(files []File, errs []*Error) Errors {
	order := make(map[string]int, len(files))
	for i, file := range slices.Backward(files) {
		order[file.Name] = i
	}
	all := slices.Clone(errs)
	slices.SortStableFunc(all, func(a, b *Error) int {
		return cmp.Or(
			cmp.Compare(order[a.Pos.File], order[b.Pos.File]),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
	all = slices.CompactFunc(all, func(a, b *Error) bool {
		return a.Pos == b.Pos && a.Rule == b.Rule && a.Message == b.Message
	})
	texts := make(map[string]*text)
	for _, e := range all {
		i, known := order[e.Pos.File]
		if e.Pos.Line < 1 || !known {
			continue
		}
		t := texts[e.Pos.File]
		if t == nil {
			t = newText(files[i])
			texts[e.Pos.File] = t
		}
		e.Excerpt = t.line(e.Pos.Line)
	}
	return all
}

// Error returns one line for each error.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// WithSeverity sets the severity of all errors, and returns them.
func (es Errors) WithSeverity(s Severity) Errors {
	for _, e := range es {
		e.Severity = s
	}
	return es
}

// Err returns es as an error, or nil if es is empty.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	return es
}

// Unwrap gives errors.As access to the single errors.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

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
