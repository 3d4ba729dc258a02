package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// ignoring matches the comment that silences checks. The names are separated by commas
// or blanks; what follows a second # is a remark.
var ignoring = regexp.MustCompile(`(^|\s)# ?reconcel:ignore\s+([^#\r\n]*)`)

// A Silence says what comments and settings silence.
type Silence struct {
	off   []string
	lines map[source.Pos][]string // the names for a line, by its position in column 0
	// Unknown are findings about unknown names, in comments and in the settings.
	Unknown []*source.Error
}

// NewSilence reads the comments of files. Off are the names of checks that are turned
// off everywhere.
//
// A comment counts for its own line. One that is alone on its line counts for the next
// line as well.
func NewSilence(files []source.File, off []string) *Silence {
	s := &Silence{off: off, lines: map[source.Pos][]string{}}
	s.know(source.Pos{File: "--ignore-check"}, off)
	for _, file := range files {
		for i, line := range strings.Split(string(file.Data), "\n") {
			m := ignoring.FindStringSubmatchIndex(line)
			if m == nil {
				continue
			}
			at := source.Pos{File: file.Name, Line: i + 1}
			silenced := strings.FieldsFunc(line[m[4]:m[5]], func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
			s.lines[at] = append(s.lines[at], silenced...)
			s.know(source.Pos{File: file.Name, Line: at.Line, Column: len([]rune(line[:m[4]])) + 1}, silenced)
			if strings.TrimSpace(line[:m[0]]) == "" {
				at.Line++
				s.lines[at] = append(s.lines[at], silenced...)
			}
		}
	}
	return s
}

// know adds a finding for each name that no check has.
func (s *Silence) know(at source.Pos, silenced []string) {
	for _, name := range silenced {
		if _, known := Named(name); !known {
			e := source.NewError(at, "", fmt.Sprintf("there is no check %q to ignore", name), source.Suggest(name, names()))
			e.Check = UnknownCheck
			s.Unknown = append(s.Unknown, e)
		}
	}
}

// Covers reports whether a finding is silenced. A finding without a name never is.
func (s *Silence) Covers(e *source.Error) bool {
	if e.Check == "" {
		return false
	}
	at := source.Pos{File: e.Pos.File, Line: e.Pos.Line}
	return slices.Contains(s.off, e.Check) || slices.Contains(s.lines[at], e.Check)
}
