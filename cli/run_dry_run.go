package cli

import (
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/dryclient"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/rulewatch"
	"reconcel/engine"
	"reconcel/engine/unwritten"
)

// A dryRun is what run --dry-run has besides run. A nil one is that of run without the flag.
type dryRun struct {
	changes *unwritten.Changes
	schemas *dryclient.Schemas
}

// dryRunOf returns the dry run of a run with --dry-run, whose configuration then sends nothing but reads.
func dryRunOf(s *runFlags, config *rest.Config) *dryRun {
	if !s.dryRun {
		return nil
	}
	config.Wrap(dryrun.Guard)
	return &dryRun{unwritten.NewChanges(), dryclient.NewSchemas()}
}

// options returns the engine's option.
func (r *dryRun) options() *engine.DryRun {
	if r == nil {
		return nil
	}
	return dryclient.New(r.schemas, r.changes)
}

// follow has the validator replace the schemas whenever it reads new ones. It checks no permissions to write.
func (r *dryRun) follow(v *rulewatch.Validator) {
	if r != nil {
		v.DryRun = r.schemas.Set
	}
}

// printDryRun prints at the end what would be written.
func (a *app) printDryRun(r *dryRun) error {
	if r == nil {
		return nil
	}
	return a.print([]byte(r.changes.Text()))
}
