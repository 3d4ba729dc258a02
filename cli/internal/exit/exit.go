// Package exit attaches exit codes to errors, and prints them.
package exit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"reconcel/rules/source"
)

// Exit codes. Scripts rely on them.
const (
	Yes    = 0
	No     = 1 // rules or resources are invalid
	Usage  = 2 // the command line is wrong
	Failed = 3 // reconcel failed
	// Rejected is used by diff only: a write is rejected or something fails.
	Rejected = 4
)

// An Error ends the process with a code.
type Error struct {
	Code int
	Err  error // nil: all errors are already printed
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Wrong returns an error for invalid input.
func Wrong(err error) error { return &Error{No, err} }

// Misused returns an error for a wrong command line.
func Misused(format string, args ...any) error { return &Error{Usage, fmt.Errorf(format, args...)} }

// Failure returns an error for work that reconcel could not do.
func Failure(err error) error { return &Error{Failed, err} }

// Silent returns an error with a code, when all errors are already printed.
func Silent(code int) error { return &Error{Code: code} }

// Code returns the code of an error, and whether it has one.
func Code(err error) (code int, found bool) {
	e, found := errors.AsType[*Error](err)
	if !found {
		return 0, false
	}
	return e.Code, true
}

// Tell prints an error, or all errors of a report about rules.
func Tell(w io.Writer, err error) {
	if report, ok := errors.AsType[source.Errors](err); ok {
		_ = report.Report(w)
		return
	}
	_, _ = fmt.Fprintf(w, "error: %v\n", err)
}

// Cause returns the cause of a file error, without the path.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
