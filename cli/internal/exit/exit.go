// Package exit gives errors the exit codes of the command.
package exit

import (
	"errors"
	"fmt"
	"io/fs"
)

// The exit codes, which scripts rely on.
const (
	Yes    = 0
	No     = 1 // the rules or resources are wrong
	Usage  = 2 // the command was used wrongly
	Failed = 3 // reconcel could not do its work
	// Refused is of diff only: part of what run would do is refused, or fails.
	Refused = 4
)

// An Error ends the process with a code.
type Error struct {
	Code int
	Err  error // nil: everything has been said
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Wrong says that the input is wrong.
func Wrong(err error) error { return &Error{No, err} }

// Misused says that the command was used wrongly.
func Misused(format string, args ...any) error { return &Error{Usage, fmt.Errorf(format, args...)} }

// Failure says that reconcel could not do its work.
func Failure(err error) error { return &Error{Failed, err} }

// Told ends the process with a code when everything has been said.
func Told(code int) error { return &Error{Code: code} }

// Code returns the code of an error, and whether it has one.
func Code(err error) (code int, found bool) {
	e, found := errors.AsType[*Error](err)
	if !found {
		return 0, false
	}
	return e.Code, true
}

// Cause returns why a file could not be read, without its name.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
