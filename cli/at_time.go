package cli

import (
	"time"

	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
)

// atTime is the flag of commands that render without a cluster: when they do.
type atTime struct{ text string }

func (f *atTime) flags(flags *pflag.FlagSet) {
	flags.StringVar(&f.text, "time", "", "`time` at which to render, such as 2026-01-02T03:04:05Z (default now, or the "+
		"creation of resources without a creationTimestamp)")
}

// parse returns the time at which to render, or the zero time.
func (f *atTime) parse() (time.Time, error) {
	if f.text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, f.text)
	if err != nil {
		return time.Time{}, exit.Misused("--time: %q is not a time, such as 2026-01-02T03:04:05Z", f.text)
	}
	return at, nil
}
