package lsp

import (
	"strings"
	"unicode/utf8"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A document is an open file. Its text and what follows from it are replaced together
// with each change.
type document struct {
	uri, path string
	version   int
	text      string
	lines     [][]rune
	outline   *outline
	parsed    *syntax.File // of this text, or of the last in which all rules could be read
	complete  bool         // parsed has all rules of some text
	scopes    scopes
	found     source.Errors // of the last judgement
	judged    int           // the version that found belongs to
}

// set replaces the text.
func (d *document) set(version int, text string) {
	d.version, d.text = version, text
	d.lines = nil
	if len(text) <= source.MaxFile {
		for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
			d.lines = append(d.lines, []rune(strings.TrimSuffix(line, "\r")))
		}
	}
	d.outline = newOutline(d.lines)
	d.parse()
}

// change applies changes in their order.
func (d *document) change(version int, changes []textChange) {
	text := d.text
	for _, c := range changes {
		if c.Range == nil {
			text = c.Text
			continue
		}
		start, end := offset(text, c.Range.Start), offset(text, c.Range.End)
		text = text[:start] + c.Text + text[max(start, end):]
	}
	d.set(version, text)
}

// offset returns the byte of a position, at most the end of its line.
func offset(text string, p position) int {
	at := 0
	for range p.Line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	for units := 0; at < len(text) && text[at] != '\n' && units < p.Character; {
		r, size := utf8.DecodeRuneInString(text[at:])
		units += unitsOf(r)
		at += size
	}
	return at
}

// unitsOf returns the number of UTF-16 code units of a character.
func unitsOf(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// A spot is a line and a character in it, both from 0.
type spot struct{ line, column int }

// spot converts a position of the protocol.
func (d *document) spot(p position) spot {
	s := spot{line: min(max(p.Line, 0), max(len(d.lines)-1, 0))}
	if s.line < p.Line || s.line >= len(d.lines) {
		return s
	}
	for units := 0; s.column < len(d.lines[s.line]) && units < p.Character; s.column++ {
		units += unitsOf(d.lines[s.line][s.column])
	}
	return s
}

// position converts a spot for the protocol.
func (d *document) position(s spot) position {
	p := position{Line: s.line}
	if s.line < len(d.lines) {
		line := d.lines[s.line]
		for _, r := range line[:min(s.column, len(line))] {
			p.Character += unitsOf(r)
		}
	}
	return p
}

// span returns characters of a line.
func (d *document) span(line, from, to int) textRange {
	return textRange{d.position(spot{line, from}), d.position(spot{line, to})}
}

// line returns the characters of a line, or none.
func (d *document) line(n int) []rune {
	if n < 0 || n >= len(d.lines) {
		return nil
	}
	return d.lines[n]
}

// isRules reports whether the file says that it has rules. Other files are left alone.
func (d *document) isRules() bool {
	for _, top := range d.outline.documents() {
		if strings.HasPrefix(top.find("apiVersion").text(), group) || top.find("kind").text() == syntax.Kind {
			return true
		}
	}
	return false
}

// group begins the apiVersion of rules files.
var group = syntax.APIVersion[:strings.IndexByte(syntax.APIVersion, '/')+1]
