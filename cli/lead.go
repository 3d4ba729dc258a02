package cli

import (
	"log/slog"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"

	"reconcel/cli/internal/exit"
	"reconcel/engine"
)

// leadership returns how this process stands for the lead, or nil if it is the
// only one.
func leadership(s *runFlags, log *slog.Logger) *engine.Leadership {
	if !s.lead {
		return nil
	}
	return &engine.Leadership{
		Identity: hostname() + "_" + string(uuid.NewUUID()), // Nobody can guess it, and take the Lease in its name.
		Lost: func(err error) {
			log.Error("lost the Lease, exiting", "error", err)
			os.Exit(exit.Failed)
		},
	}
}
