package source

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A slip is a mistake in how lines are indented, or in a line before the one where YAML
// notices it.
type slip struct {
	line   int
	says   string
	answer string
}

var (
	keyed     = regexp.MustCompile(`^[ ]*(?:- )*[\w./-]+:(?:$|\s)`) // a line with a key
	noBlank   = regexp.MustCompile(`^[ ]*-[A-Za-z]`)                // a dash that is no item
	tightKey  = regexp.MustCompile(`^[ ]*([\w.-]+):([^\s:/].*)$`)   // a colon without a blank
	plainText = regexp.MustCompile(`^[ ]*[\w.-]+(\s|=|$)[^:]*$`)    // no colon at all
)

// slip finds a slip around the position of an error, or returns one without a line.
func (t *text) slip(p Pos, problem string) slip {
	before := t.written(p.Line, -1)
	if before == 0 || !keyed.MatchString(t.line(p.Line)) {
		return slip{}
	}
	line, last := t.line(p.Line), t.line(before)
	switch problem {
	case "mapping values are not allowed in this context":
		if end := strings.Index(line, ":"); p.Column != utf8.RuneCountInString(line[:end])+1 {
			return slip{} // The colon is in the value.
		}
		switch m := tightKey.FindStringSubmatch(last); {
		case noBlank.MatchString(last):
			return slip{before, "the dash of an item needs a blank after it",
				"write " + strings.Replace(strings.TrimSpace(last), "-", "- ", 1)}
		case m != nil:
			return slip{before, "a key needs a blank after its colon", "write " + m[1] + ": " + m[2]}
		case plainText.MatchString(last):
			return slip{before, "a key needs a colon and a blank", ""}
		case keyed.MatchString(last) && column(line) > column(last):
			return t.deeper(p.Line, before)
		}
	case "did not find expected key", "did not find expected '-' indicator":
		if column(last) > column(line) && odd(line) && !odd(last) {
			return slip{p.Line, "is indented less than the line before", ""}
		}
		if opener := t.written(before, -1); opener > 0 && column(last) > column(line) &&
			column(line) > indentation(t.line(opener)) {
			return slip{before, "is indented more than the next line, which belongs to the same map or list", ""}
		}
		for l := before; l > 0; l = t.written(l, -1) {
			if indentation(t.line(l)) < indentation(line) {
				if odd(t.line(l)) && !odd(line) {
					return slip{l, "is indented differently than the lines around it", ""}
				}
				break
			}
		}
	}
	return slip{}
}

// deeper explains a line that is indented more than the one before, which has a value.
// The one of the two is wrong that is a blank off, or unlike the lines around both.
func (t *text) deeper(line, before int) slip {
	tooLittle := slip{before, "is indented less than the next line, although it already has a value", ""}
	if odd(t.line(before)) && !odd(t.line(line)) {
		return tooLittle
	}
	around := []int{t.written(before, -1), t.written(line, 1)}
	for _, l := range around {
		if l > 0 && column(t.line(l)) == column(t.line(before)) {
			return slip{line, "is indented more than the line before, which already has a value", ""}
		}
	}
	for _, l := range around {
		if l > 0 && column(t.line(l)) == column(t.line(line)) {
			return tooLittle
		}
	}
	return slip{line, "is indented more than the line before, which already has a value", ""}
}

// written returns the next line in a direction that is neither blank nor a comment, or 0.
func (t *text) written(line, step int) int {
	for l := line + step; l > 0 && l <= len(t.lines); l += step {
		if s := strings.TrimSpace(t.line(l)); s != "" && s[0] != '#' {
			return l
		}
	}
	return 0
}

// odd reports whether a line is indented by an odd number of blanks, which is mostly a slip.
func odd(line string) bool { return indentation(line)%2 == 1 }

// indentation returns the number of blanks before a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// column returns the number of characters before the key of a line: those of a dash
// count.
func column(line string) int { return len(line) - len(strings.TrimLeft(line, "- ")) }
