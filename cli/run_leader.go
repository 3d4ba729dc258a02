package cli

import (
	"log/slog"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"

	"reconcel/cli/internal/exit"
	"reconcel/engine/leader"
)

// leadership returns how this process stands for the lead, or nil if it is the
// only one.
func leadership(s *runFlags, log *slog.Logger) *leader.Options {
	if !s.lead {
		return nil
	}
	return &leader.Options{
		Identity: hostname() + "_" + string(uuid.NewUUID()), // Nobody can guess it, and take the Lease in its name.
		Lost: func(err error) {
			log.Error("lost the Lease, exiting", "error", err)
			os.Exit(exit.Failed)
		},
	}
}
