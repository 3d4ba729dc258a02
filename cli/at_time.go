package cli

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
)

// atTime is the flag of commands that render without a cluster: when they do.
type atTime struct{ text string }

func (f *atTime) flags(flags *pflag.FlagSet) {
	flags.StringVar(&f.text, "time", "", "`time` at which to render, such as 2026-01-02T03:04:05Z (default now, or the creation of resources without a creationTimestamp)")
}

// of returns the time at which to render resources. The zero time is that of their creation.
func (f *atTime) of(resources []*files.Object) (time.Time, error) {
	if f.text != "" {
		at, err := time.Parse(time.RFC3339, f.text)
		if err != nil {
			return time.Time{}, exit.Misused("--time: %q is not a time, such as 2026-01-02T03:04:05Z", f.text)
		}
		return at, nil
	}
	created := func(o *files.Object) bool { at := o.GetCreationTimestamp(); return !at.IsZero() }
	if slices.ContainsFunc(resources, created) {
		return time.Now(), nil
	}
	return time.Time{}, nil
}
