package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"reconcel/rules/source"
)

// The exit codes, which scripts rely on.
const (
	exitYes    = 0
	exitNo     = 1 // the rules or resources are wrong
	exitUsage  = 2 // the command was used wrongly
	exitFailed = 3 // reconcel could not do its work
	// Of diff only: part of what run would do is refused, or fails.
	exitRefused = 4
)

// An exitError ends the process with a code.
type exitError struct {
	code int
	err  error // nil: everything has been said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// no answers that the input is wrong.
func no(err error) error { return &exitError{exitNo, err} }

// misused says that the command was used wrongly.
func misused(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// failed says that reconcel could not do its work.
func failed(err error) error { return &exitError{exitFailed, err} }

// conclude says what went wrong and returns the exit code for it. An error
// that is no exitError comes from cobra: the command line made no sense.
func (a *app) conclude(cmd *cobra.Command, err error) int {
	if err == nil {
		return exitYes
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err}
	}
	var report source.Errors
	switch {
	case errors.As(exit.err, &report):
		_ = report.Report(a.stderr)
	case exit.err != nil:
		a.say("error: %v", exit.err)
	}
	if exit.code == exitUsage {
		a.say("Run '%s --help' for usage.", cmd.CommandPath())
	}
	return exit.code
}

// cause returns why a file could not be read, without its name.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
