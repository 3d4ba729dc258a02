package offline

import (
	"slices"
	"time"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
)

// A Request names the files whose resources are rendered.
type Request struct {
	Resources []string
	Observed  []string // objects of the cluster
	Namespace string   // of objects without one
	Exists    Existence
	Time      time.Time                        // zero: see TimeOf
	Say       func(format string, args ...any) // prints a line for people
}

// Prepare reads the files of a request, and returns a renderer and the resources for it.
func (j Judged) Prepare(from files.Reader, q Request) (*Renderer, []*files.Object, error) {
	live, err := j.Kinds.Resources(from, q.Observed, q.Namespace)
	if err != nil {
		return nil, nil, err
	}
	resources, err := j.Kinds.Resources(from, q.Resources, q.Namespace)
	if err != nil {
		return nil, nil, err
	}
	at := q.Time
	if at.IsZero() {
		at = TimeOf(resources)
	}
	r, err := New(Options{Program: j.Program, Kinds: j.Kinds, Observed: live, Exists: q.Exists, Time: at, Say: q.Say})
	if err != nil {
		return nil, nil, exit.Wrong(err)
	}
	return r, resources, nil
}

// TimeOf returns when resources are rendered unless a time is given: now if one of them
// was created in the past, or else the zero time, which is that of their creation.
func TimeOf(resources []*files.Object) time.Time {
	created := func(o *files.Object) bool { at := o.Unstructured.GetCreationTimestamp(); return !at.IsZero() }
	if slices.ContainsFunc(resources, created) {
		return time.Now()
	}
	return time.Time{}
}
