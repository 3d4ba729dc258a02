package source

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
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
}

// An Expr is a CEL expression with the position of each of its characters.
type Expr struct {
	Text string
	Pos  Pos

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
	file  string
	runes []rune
	marks []mark
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
	e := &Expr{Text: string(s.runes[i:j]), Pos: s.at(i)}
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
