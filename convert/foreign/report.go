package foreign

import (
	"fmt"

	"reconcel/rules/source"
)

// A Report collects what a reader of converted rules has to know.
type Report struct {
	found []*source.Error
}

// Lost records a part of the input that has no counterpart and is left out.
func (r *Report) Lost(pos source.Pos, path, hint, format string, args ...any) {
	r.add(source.SeverityError, pos, path, hint, fmt.Sprintf(format, args...))
}

// Note records a difference that does not leave anything out.
func (r *Report) Note(pos source.Pos, path, hint, format string, args ...any) {
	r.add(source.SeverityNote, pos, path, hint, fmt.Sprintf(format, args...))
}

func (r *Report) add(severity source.Severity, pos source.Pos, path, hint, message string) {
	e := source.NewError(pos, "", path+": "+message, hint)
	e.Severity = severity
	r.found = append(r.found, e)
}

// Add records what reading a file has found.
func (r *Report) Add(found ...*source.Error) { r.found = append(r.found, found...) }

// Of returns everything in the order of the files, with their lines.
func (r *Report) Of(files []source.File) source.Errors { return source.Collect(files, r.found) }
