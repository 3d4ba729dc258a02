package cli

import (
	"log/slog"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"

	"reconcel/cli/internal/exit"
	"reconcel/engine/leader"
	"reconcel/rules"
)

// leadership returns the options of leader election, or nil without --leader-elect.
func leadership(s *runFlags, log *slog.Logger) *leader.Options {
	if !s.lead {
		return nil
	}
	return &leader.Options{
		// Unique and not guessable, so that no other process can hold the Lease under this identity.
		Identity: hostname() + "_" + string(uuid.NewUUID()),
		Labels:   map[string]string{rules.LabelManagedBy: rules.ManagedBy},
		Lost: func(err error) {
			log.Error("leadership ended, exiting", "error", err)
			os.Exit(exit.Failed)
		},
	}
}
