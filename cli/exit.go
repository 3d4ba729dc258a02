package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"reconcel/cli/internal/exit"
)

// conclude prints an error and returns the exit code. An error without a code comes
// from cobra and means that the command line is wrong.
func (p *printer) conclude(cmd *cobra.Command, err error) int {
	if err == nil {
		return exit.Yes
	}
	end, coded := errors.AsType[*exit.Error](err)
	if !coded {
		end = &exit.Error{Code: exit.Usage, Err: err}
	}
	if end.Err != nil {
		p.complain(end.Err)
	}
	if end.Code == exit.Usage {
		p.say("Run '%s --help' for usage.", cmd.CommandPath())
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
func (p *printer) complain(err error) { exit.Tell(p.stderr, err) }
