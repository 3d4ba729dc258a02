package source

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the maximum size of a file in bytes. A ConfigMap cannot be larger.
const MaxFile = 1 << 20

// A text is a file without byte order mark, with an index of its lines.
type text struct {
	name  string
	data  string
	lines []int // start of each line in data

	rulers   map[int]*ruler // of long lines, by line number
	tooLarge bool           // its data is left out
}

func newText(file File) *text {
	t := &text{name: file.Name, lines: []int{0}, rulers: make(map[int]*ruler)}
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
