package offline

import "fmt"

// A report collects notes and errors about a resource.
type report struct {
	about    string // the resource
	notes    []string
	failures int
}

// note adds a line.
func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, r.about+": "+fmt.Sprintf(format, args...))
}

// fail adds an error.
func (r *report) fail(format string, args ...any) {
	r.failures++
	r.note(format, args...)
}
