package format

import (
	"slices"
	"strings"
)

func isBlank(line string) bool   { return strings.TrimSpace(line) == "" }
func isComment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") }

// isMarker reports whether a line begins or ends a document.
func isMarker(line string) bool {
	for _, marker := range []string{"---", "..."} {
		if rest, found := strings.CutPrefix(line, marker); found && strings.TrimLeft(rest, " \t") != rest || line == marker {
			return true
		}
	}
	return false
}

// indentation returns the number of blanks before a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// skip returns a line from a column on.
func skip(line string, column int) string {
	runes := []rune(line)
	return string(runes[min(column, len(runes)):])
}

// moved indents a line by more or fewer blanks. Blank lines stay blank.
func moved(line string, by int) string {
	switch {
	case by > 0 && line != "":
		return strings.Repeat(" ", by) + line
	case by < 0:
		return line[min(-by, indentation(line)):]
	}
	return line
}

// written returns the next line from one on that is neither blank nor a comment.
func (p *printer) written(line int) int {
	for line < len(p.lines) && (isBlank(p.lines[line]) || isComment(p.lines[line])) {
		line++
	}
	return line
}

// lead lays out the blank lines and comments before a line. Several blank lines become
// one.
func (p *printer) lead(end, to int) []string {
	var out []string
	for _, line := range p.lines[p.next:end] {
		switch {
		case !isBlank(line):
			out = append(out, strings.Repeat(" ", to)+strings.TrimSpace(line))
		case len(out) == 0 || out[len(out)-1] != "":
			out = append(out, "")
		}
	}
	p.next = end
	return out
}

// tail lays out the comments after the last entry of a map or list that belong to it:
// those that are indented like its entries, and more than what follows.
func (p *printer) tail(at place) []string {
	next := p.written(p.next)
	follows := -1
	if next < len(p.lines) && !isMarker(p.lines[next]) {
		follows = indentation(p.lines[next])
	}
	last := p.next
	for i := p.next; i < next; i++ {
		if isBlank(p.lines[i]) {
			continue
		}
		if column := indentation(p.lines[i]); column < at.from || column <= follows {
			break
		}
		last = i + 1
	}
	return p.lead(last, at.to)
}

// joined joins entries. A blank line before the first one stays with the entry that had
// it, or goes.
func joined(entries []entry) part {
	var out part
	for i, e := range entries {
		if i == 0 {
			out = part{lead: withoutBlanks(e.lead), body: e.body}
			continue
		}
		out.body = slices.Concat(out.body, e.lead, e.body)
	}
	return out
}

// withoutBlanks returns lines without blank ones at the start.
func withoutBlanks(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	return lines
}

// trimmed returns lines without blank ones at both ends.
func trimmed(lines []string) []string {
	lines = withoutBlanks(lines)
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
