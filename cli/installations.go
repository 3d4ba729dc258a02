package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// installationFlags select installations.
type installationFlags struct {
	cluster         clusterFlags
	namespace, name string
}

func (f *installationFlags) flags(flags *pflag.FlagSet) {
	f.cluster.flags(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the installation (default: any)")
	flags.StringVar(&f.name, "name", "", "name of the installation (default: any)")
}

// installations are those that a command is about.
type installations struct {
	all     []installation
	damaged error // why some are missing
}

// An installation has what a command shows and changes of it.
type installation struct {
	inventory.Stored
	*inventory.Inventory
	held     []inventory.HeldChange
	rollouts map[string]inventory.Rollout
}

// find finds the installations as status does. At least one exists.
func (f *installationFlags) find(ctx context.Context, out *printer) (found installations, err error) {
	if err := validInstallation(f.namespace, cmp.Or(f.name, "reconcel")); err != nil {
		return found, err
	}
	live, namespace, err := f.cluster.open(out, nil)
	if err != nil {
		return found, err
	}
	stored, err := live.Installations(ctx, cluster.InstallationQuery{Namespace: f.namespace, Name: f.name,
		Home: namespace, Flags: "-n NAMESPACE and --name NAME"})
	if err == nil && len(stored) == 0 {
		err = cluster.ErrNotInstalled
	}
	if err = interrupted(ctx, err); err != nil {
		return found, exit.Failure(err)
	}
	for _, s := range stored {
		i := installation{Stored: s, Inventory: inventory.New(live.Client, inventory.Options{Namespace: s.Namespace,
			Installation: s.Installation, FieldManager: "reconcel"})}
		var ofHeld, ofRollouts error
		i.held, ofHeld = s.Held()
		i.rollouts, ofRollouts = s.Rollouts()
		if err := errors.Join(ofHeld, ofRollouts); err != nil {
			found.damaged = errors.Join(found.damaged, fmt.Errorf("inventory %s: %w", s, err))
			continue
		}
		found.all = append(found.all, i)
	}
	return found, nil
}

// runningRules returns the rules that an installation loaded last, and its name: the one that is named, or the only
// one.
func runningRules(ctx context.Context, live *cluster.Cluster, named, home string) (*rules.Loaded, string, error) {
	namespace, name, _ := strings.Cut(named, "/")
	all, err := live.Installations(ctx, cluster.InstallationQuery{Namespace: namespace, Name: name, Home: home,
		Flags: "--installation NAMESPACE/NAME"})
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%w; or give the rules with -f", err)
	case len(all) == 0:
		return nil, "", fmt.Errorf("%w; give the rules with -f", cluster.ErrNotInstalled)
	case len(all) > 1:
		return nil, "", exit.Misused("there are several installations, choose one with --installation: %s, or give the "+
			"rules with -f", inventory.Names(all))
	}
	of := all[0]
	if err := of.ReadTexts(ctx, live.Client); err != nil {
		return nil, "", fmt.Errorf("%w; or give the rules with -f", err)
	}
	files := of.LastFiles()
	if files == nil {
		return nil, "", fmt.Errorf("the rules of %s are not in the cluster: give them with -f", of.Name())
	}
	loaded := rules.Compile(files)
	return loaded, of.Name(), loaded.Errors.Err()
}

// only returns the installation that has something. none says that there is no such one.
func (all installations) only(what string, has func(installation) bool, none error) (*installation, error) {
	having := slices.DeleteFunc(slices.Clone(all.all), func(i installation) bool { return !has(i) })
	switch {
	case len(having) == 1:
		return &having[0], nil
	case len(having) == 0:
		return nil, exit.Failure(errors.Join(none, all.damaged))
	}
	var flags []string
	for _, i := range having {
		flags = append(flags, fmt.Sprintf("-n %s --name %s", i.Namespace, i.Installation))
	}
	return nil, exit.Misused("several installations have %s, choose one: %s", what, strings.Join(flags, ", or "))
}

// done ends a command that has shown what can be read.
func (all installations) done(err error) error {
	if err == nil && all.damaged != nil {
		return exit.Failure(all.damaged)
	}
	return err
}

// names names the installations in text about all of them.
func (all installations) names() string {
	var stored []inventory.Stored
	for _, i := range all.all {
		stored = append(stored, i.Stored)
	}
	return inventory.Names(stored)
}
