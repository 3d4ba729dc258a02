package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
)

// conclude prints an error and returns the exit code. An error without a code comes
// from cobra and means that the command line is wrong.
func (a *app) conclude(cmd *cobra.Command, err error) int {
	if err == nil {
		return exit.Yes
	}
	end, coded := errors.AsType[*exit.Error](err)
	if !coded {
		end = &exit.Error{Code: exit.Usage, Err: err}
	}
	if end.Err != nil {
		a.complain(end.Err)
	}
	if end.Code == exit.Usage {
		a.say("Run '%s --help' for usage.", cmd.CommandPath())
	}
	return end.Code
}

// interrupted reports the signal instead of the requests that it canceled.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exit.Failure(errors.New("interrupted"))
	}
	if _, coded := exit.Code(err); err == nil || coded {
		return err
	}
	return exit.Failure(err)
}

// complain prints an error.
func (a *app) complain(err error) { exit.Tell(a.stderr, err) }
