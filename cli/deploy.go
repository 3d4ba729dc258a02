package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/output"
	"reconcel/cli/internal/settings"
	"reconcel/deploy"
	"reconcel/engine/access"
	"reconcel/rules/source"
)

// deployFlags are the flags that rbac and manifests share.
type deployFlags struct {
	offlineRules
	options   deploy.Options
	enforced  bool
	replicas  *settings.Value[int]
	events    *settings.Value[string]
	admission bool
	kustomize string
	chart     string
}

func (f *deployFlags) flags(flags *pflag.FlagSet) {
	f.offlineRules.flags(flags, "watch only these namespaces, with a Role in each and nothing that is cluster-scoped; "+
		"may be repeated (default: all)")
	flags.StringVarP(&f.options.Namespace, "namespace", "n", "reconcel-system", "namespace of the installation")
	flags.StringVar(&f.options.Name, "name", "reconcel", "name of the installation; two in one cluster need two names")
	flags.BoolVar(&f.options.DryRun, "dry-run", false,
		"for run --dry-run beside the installation of this name: permissions to read, and objects named NAME-dry-run")
	flags.BoolVar(&f.options.RulesObjects, "rules-objects", false,
		"for run --rules-objects: the rules are Rules objects in the namespace of the installation")
	writtenFlag(flags, &f.written)
	flags.BoolVar(&f.enforced, "enforced-owner-references", false,
		"add the permissions for the admission plugin OwnerReferencesPermissionEnforcement, which OpenShift enables")
}

// A deployCommand prints what runs rules in a cluster, or only its permissions.
type deployCommand struct {
	out    *printer
	loader *loader
}

func (c deployCommand) rbacCommand() *cobra.Command {
	f := &deployFlags{}
	cmd := &cobra.Command{
		Use:   "rbac -f RULES...",
		Short: "Print the permissions that rules need",
		Long: `Print the roles that the rules need, and no more: without wildcards, and with the
reason for each permission. They are bound to a ServiceAccount with the name of the
installation. Rules with serviceAccountName write as another account; its
permissions are in roles of their own.

With --namespaced, rbac prints Roles in these namespaces and no ClusterRole. With
--rules-objects, it adds the permissions to read Rules objects and to write their status.

The resource names of Kubernetes' own kinds are built in; those of custom resources
come from their CRDs (--crd). No cluster and no kubeconfig is read.

Run rbac again when the rules change. What reconcel still needs to delete what the
rules no longer render, it keeps in the role NAME-cleanup, which it writes itself.

Exit code: 0 printed, 1 the rules are invalid or a kind is unknown, 2 wrong usage,
3 a file cannot be read.`,
		Example: `  reconcel rbac -f examples/foo/rules.yaml --crd crds/ | kubectl apply -f -`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE:    func(*cobra.Command, []string) error { return c.rbac(f) },
	}
	f.flags(cmd.Flags())
	return cmd
}

func (c deployCommand) manifestsCommand() *cobra.Command {
	f := &deployFlags{replicas: settings.Count(2, 1), events: eventFilter()}
	cmd := &cobra.Command{
		Use:   "manifests -f RULES...",
		Short: "Print the manifests that run reconcel in a cluster",
		Long: `Print the objects that run reconcel in a cluster with these rules: Namespace,
ServiceAccount, the permissions that the rules need (the output of rbac), a
ConfigMap with the rules, Deployment, PodDisruptionBudget, Service, NetworkPolicy,
and a FlowSchema for the Lease.

The CRDs of the rules are not included: apply them first. With more than about 250 KiB
of rules, apply the objects with kubectl apply --server-side: kubectl's annotation with
the last applied object would be too large.

With --rules-objects, the rules are objects in the place of the ConfigMap: each document
of the files, which needs a metadata.name, gets the namespace of the installation.
Their CRD is included. kubectl knows the kind only once it is established: the first
time, apply it alone before everything else, with crd --rules-objects. A chart has
neither: apply the CRD and the rules beside it.

With --admission, manifests also prints policies: whoever creates or changes a
resource must be allowed to do what the rules do for it.

With --namespaced, manifests prints Roles for these namespaces and nothing that is
cluster-scoped: the namespace of the installation must exist, and there is no
FlowSchema. Policies (--admission) are cluster-scoped nevertheless, but do not apply
to other namespaces.

With --kustomize, manifests writes a kustomize base into a folder, with the rules as
separate files. With --chart, it writes a Helm chart, with the rules and permissions
in values.yaml and without the Namespace. Both overwrite files of the same names.

Exit code: 0 printed, 1 the rules are invalid or a kind is unknown, 2 wrong usage,
3 a file cannot be read, or the folder cannot be written.`,
		Example: `  reconcel manifests -f examples/foo/rules.yaml --crd crds/ | kubectl apply -f -
  reconcel manifests -f rules/ --crd crds/ --namespaced team-a,team-b -n team-a | kubectl apply -f -
  reconcel manifests -f rules/ --crd crds/ --kustomize deploy/base
  reconcel manifests -f rules/ --crd crds/ --chart deploy/chart`,
		Args:    flagsOnly,
		PreRunE: inProject,
		RunE:    func(*cobra.Command, []string) error { return c.manifests(f) },
	}
	flags := cmd.Flags()
	f.flags(flags)
	flags.StringVar(&f.options.Image, "image", "reconcel:dev",
		"container image; the default is the one that make image builds")
	flags.Var(f.replicas, "replicas", "number of Pods: one leads, the others stand by")
	flags.Var(f.events, "events", eventsUsage)
	flags.BoolVar(&f.admission, "admission", false,
		"add policies: whoever writes a resource must be allowed to do what the rules do for it")
	flags.StringVar(&f.kustomize, "kustomize", "",
		"write a kustomize base into this `folder` instead of printing the objects")
	flags.StringVar(&f.chart, "chart", "", "write a Helm chart into this `folder` instead of printing the objects")
	cmd.MarkFlagsMutuallyExclusive("kustomize", "chart", "output")
	return cmd
}

func (c deployCommand) rbac(f *deployFlags) error {
	_, permissions, err := c.needs(f)
	if err != nil {
		return err
	}
	return c.deliverManifests(f.options.Roles(permissions), f.written)
}

func (c deployCommand) manifests(f *deployFlags) error {
	if f.options.Image == "" {
		return exit.Misused("invalid argument \"\" for \"--image\" flag: it names no image")
	}
	if f.options.DryRun && f.admission {
		return exit.Misused("--admission and --dry-run cannot be used together: the policies would be those of the " +
			"installation, and deny requests")
	}
	if f.options.DryRun && f.options.RulesObjects {
		return exit.Misused("--rules-objects and --dry-run cannot be used together: the objects would be those of the " +
			"installation, which makes their rules active")
	}
	f.options.Replicas = f.replicas.Value
	if f.options.DryRun {
		f.options.Replicas = 1 // Each one would count everything.
	}
	if events := f.events.Value; events != string(access.EventsChanges) { // The default needs no argument.
		f.options.Events = events
	}
	j, permissions, err := c.needs(f)
	if err != nil {
		return err
	}
	files, err := f.rulesFiles(j.Sources)
	if err != nil {
		return err
	}
	f.options.AllowedKinds, f.options.IgnoredChecks = f.allowed, f.ignored
	if missing := f.options.Missing(); missing != "" {
		c.out.say("omitted with --namespaced: %s", missing)
	}
	var policies []deploy.Manifest
	if f.admission {
		policies = f.options.Policies(j.Program, j.Kinds.Set)
	}
	if f.chart != "" {
		chart, err := f.options.Chart(append(policies, f.options.Roles(permissions)...), files)
		if err != nil {
			return exit.Failure(err)
		}
		return c.writeFolder(f.chart, chart, "install it with: helm install -n "+f.options.Namespace+" --create-namespace "+
			f.options.ObjectName())
	}
	// Create the admission policies first, so that they guard everything after them.
	all := append(policies, f.options.Manifests(permissions, files)...)
	large, apply := f.options.NeedServerSide(files), "kubectl apply"
	if large {
		apply += " --server-side"
	}
	if f.kustomize != "" {
		base, err := f.options.Base(all, files)
		if err != nil {
			return exit.Failure(err)
		}
		return c.writeFolder(f.kustomize, base, "apply it with: "+apply+" -k")
	}
	if large {
		c.out.say("the rules are too large for the annotation of kubectl apply: use %s", apply)
	}
	return c.deliverManifests(all, f.written)
}

// rulesFiles returns the rules as they are deployed.
func (f *deployFlags) rulesFiles(sources []source.File) ([]deploy.RulesFile, error) {
	if !f.options.RulesObjects {
		files, err := deploy.Files(sources)
		if err != nil {
			return nil, exit.Wrong(err)
		}
		return files, nil
	}
	files, complaints := deploy.Objects(sources)
	if len(complaints) > 0 {
		return nil, exit.Wrong(source.Collect(sources, complaints))
	}
	return files, nil
}

// deliverManifests writes objects as YAML to a file, or to stdout without one.
func (c deployCommand) deliverManifests(all []deploy.Manifest, path string) error {
	out, err := deploy.Print(all)
	if err != nil {
		return exit.Failure(err)
	}
	return c.out.deliver(out, path)
}

// needs loads the rules and derives the permissions that they need.
func (c deployCommand) needs(f *deployFlags) (j offline.Judged, _ *deploy.Permissions, err error) {
	f.options.Namespaced = f.only
	if err := f.options.Validate(); err != nil {
		return j, nil, exit.Misused("%w", err)
	}
	if err := once(f.paths, f.crds); err != nil {
		return j, nil, err
	}
	if j, err = c.loader.accepted(&f.offlineRules); err != nil {
		return j, nil, err
	}
	admission := deploy.Usual
	if f.enforced {
		admission = deploy.EnforcedOwners
	}
	needed, complaints := deploy.Needs(j.Program, j.Kinds.Set, admission)
	if len(complaints) > 0 {
		return j, nil, exit.Wrong(source.Collect(j.Sources, complaints))
	}
	if err := j.Result.Warnings.Report(c.out.stderr); err != nil {
		return j, nil, exit.Failure(err)
	}
	return j, needed, nil
}

// writeFolder writes files by path, and prints how to use the folder.
func (c deployCommand) writeFolder(folder string, files map[string][]byte, use string) error {
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
		if err != nil {
			return exit.Failure(fmt.Errorf("write the files: %w", err))
		}
	}
	c.out.say("%s written; %s %s", output.Plural(len(files), "file"), use, folder)
	return nil
}
