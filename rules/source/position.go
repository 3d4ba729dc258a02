package source

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A Pos is a position in a file. Line and Column count from 1, columns in
// characters; the zero Pos is unknown.
type Pos struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String returns file:line:column, as compilers print it.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A File is the content of one file.
type File struct {
	Name string // as shown in messages
	Data []byte
	// Beside are the files that expressions in it read.
	Beside []TextFile `json:",omitempty"`
}

// A TextFile is a file beside rules that an expression reads.
type TextFile struct {
	Path  string `json:"path"` // from the folder of the rules, as the expression has it
	Text  string `json:"text"`
	Wrong string `json:"wrong,omitempty"` // why it cannot be read
}

// An Expr is a CEL expression with the position of each of its characters.
type Expr struct {
	Text   string
	Pos    Pos
	Beside []TextFile // the files that it can read

	marks []mark // empty: the file has the same text
}

// At converts a position within the expression to a position in the file. CEL
// counts lines from 1, and columns in characters from 0.
func (e *Expr) At(line, column int) Pos {
	if len(e.marks) == 0 {
		if line <= 1 {
			return Pos{e.Pos.File, e.Pos.Line, e.Pos.Column + column}
		}
		return Pos{e.Pos.File, e.Pos.Line + line - 1, column + 1}
	}
	index := 0
	rest := e.Text
	for ; line > 1; line-- {
		head, tail, found := strings.Cut(rest, "\n")
		if !found {
			break
		}
		index += len([]rune(head)) + 1
		rest = tail
	}
	// CEL reports a missing end at most one character after the text.
	return posAt(e.marks, e.Pos.File, index+min(column, len([]rune(rest))))
}

var celInt = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*|0x[0-9A-Fa-f]+)$`)

// IsInt reports whether the expression is a literal whole number.
func (e *Expr) IsInt() bool { return celInt.MatchString(e.Text) }

// Holds reports whether a position in the file is within the expression, or
// directly after it, where CEL reports a missing end.
func (e *Expr) Holds(p Pos) bool {
	lines := strings.Split(e.Text, "\n")
	last := lines[len(lines)-1]
	return p.File == e.Pos.File && !p.before(e.Pos) && !e.At(len(lines), utf8.RuneCountInString(last)).before(p)
}

// before reports whether p comes before q in the same file.
func (p Pos) before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// A mark maps character index of a decoded text to line and column of the file. The
// following characters are on the same line, up to the next mark. Most expressions
// have one mark; folds and escapes start new ones.
type mark struct {
	index, line, column int
}

// posAt returns the position of character i of a decoded text.
func posAt(marks []mark, file string, i int) Pos {
	k := sort.Search(len(marks), func(k int) bool { return marks[k].index > i })
	m := marks[max(k-1, 0)]
	return Pos{file, m.line, m.column + max(i-m.index, 0)}
}

// A scalar is the decoded text of a YAML scalar and the positions of its characters.
type scalar struct {
	file   string
	runes  []rune
	marks  []mark
	beside []TextFile
}

func (s *scalar) at(i int) Pos { return posAt(s.marks, s.file, i) }

// expr returns the characters from i to j without surrounding space as an
// expression.
func (s *scalar) expr(i, j int) *Expr {
	start := i
	for i < j && unicode.IsSpace(s.runes[i]) {
		i++
	}
	for i < j && unicode.IsSpace(s.runes[j-1]) {
		j--
	}
	if i == j {
		i, j = start, start // There is only space, which may end after the last line.
	}
	first := sort.Search(len(s.marks), func(k int) bool { return s.marks[k].index > i }) - 1
	first = max(first, 0)
	e := &Expr{Text: string(s.runes[i:j]), Pos: s.at(i), Beside: s.beside}
	for _, m := range s.marks[first:] {
		if m.index >= j && len(e.marks) > 0 {
			break
		}
		if m.index < i {
			m.column += i - m.index
			m.index = i
		}
		m.index -= i
		e.marks = append(e.marks, m)
	}
	return e
}

// MaxFile is the maximum size of a file in bytes. A ConfigMap cannot be larger.
const MaxFile = 1 << 20

// A text is a file without byte order mark, with an index of its lines.
type text struct {
	name   string
	data   string
	lines  []int // start of each line in data
	beside []TextFile

	rulers   map[int]*ruler // of long lines, by line number
	tooLarge bool           // its data is left out
}

func newText(file File) *text {
	t := &text{name: file.Name, lines: []int{0}, beside: file.Beside, rulers: make(map[int]*ruler)}
	if data := bytes.TrimPrefix(file.Data, []byte("\ufeff")); len(data) <= MaxFile {
		t.data = string(data)
	} else {
		t.tooLarge = true // check rejects the file.
	}
	for i := 0; i < len(t.data)-1; i++ {
		if t.data[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns the n-th line, counted from 1, without its end.
func (t *text) line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	s := t.data[t.lines[n-1]:]
	if n < len(t.lines) {
		s = s[:t.lines[n]-t.lines[n-1]]
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// pos returns the position of a node. YAML may report an empty value after the end
// of the file; pos returns the end.
func (t *text) pos(n *yaml.Node) Pos {
	line := max(n.Line, 1)
	if line > len(t.lines) {
		line = len(t.lines)
		return Pos{t.name, line, t.width(line) + 1}
	}
	return Pos{t.name, line, min(max(n.Column, 1), t.width(line)+1)}
}

// width returns the number of characters in a line.
func (t *text) width(line int) int {
	if r := t.ruler(line); r != nil {
		return r.width
	}
	return utf8.RuneCountInString(t.line(line))
}

// offset converts a byte index to a position.
func (t *text) offset(i int) Pos {
	line := max(sort.SearchInts(t.lines, i+1), 1)
	head := t.data[t.lines[line-1]:i]
	return Pos{t.name, line, min(utf8.RuneCountInString(head), t.width(line)) + 1}
}

// check returns an error if the file cannot be read as text.
func (t *text) check() *Error {
	switch {
	case t.tooLarge:
		return NewError(Pos{t.name, 1, 1}, "", fmt.Sprintf("file has more than %d bytes", MaxFile), "split it")
	case strings.HasPrefix(t.data, "\xff\xfe"), strings.HasPrefix(t.data, "\xfe\xff"):
		return NewError(Pos{t.name, 1, 1}, "", "file is UTF-16", "save it as UTF-8")
	}
	if i := strings.IndexByte(t.data, 0); i >= 0 {
		return NewError(t.offset(i), "", "file is not text", "")
	}
	for i, r := range t.data {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(t.data[i:], string(utf8.RuneError)):
			return NewError(t.offset(i), "", fmt.Sprintf("byte 0x%02X is not UTF-8", t.data[i]), "save the file as UTF-8")
		case r == '\r' && !strings.HasPrefix(t.data[i:], "\r\n"):
			return NewError(t.offset(i), "", "carriage return without a line feed", "end lines with LF or CRLF")
		case r == '\ufeff':
			return NewError(t.offset(i), "", "byte order mark inside the file", "remove it")
		// YAML 1.1 ends lines at these three characters, but editors do not. All
		// line numbers after them would be wrong.
		case r == '\u0085', r == '\u2028', r == '\u2029':
			return NewError(t.offset(i), "", fmt.Sprintf("line separator U+%04X", r),
				fmt.Sprintf("in double quotes, write \\u%04x", r))
		case r < 0x20 && !strings.ContainsRune("\t\n\r", r), r >= 0x7F && r < 0xA0, r == 0xFFFE, r == 0xFFFF:
			return NewError(t.offset(i), "", fmt.Sprintf("control character U+%04X", r),
				fmt.Sprintf("remove it, or in double quotes write \\u%04x", r))
		}
	}
	return nil
}
