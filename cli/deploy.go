package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reconcel/deploy"
	"reconcel/rules/source"
)

// deployFlags say what rbac and manifests work on.
type deployFlags struct {
	offlineRules
	options   deploy.Options
	enforced  bool
	replicas  count
	admission bool
	kustomize string
}

func (f *deployFlags) flags(flags *pflag.FlagSet) {
	f.offlineRules.flags(flags, "let these namespaces alone be followed, with a Role in each and nothing that belongs to the cluster as a whole; may be repeated (default: all)")
	flags.StringVarP(&f.options.Namespace, "namespace", "n", "reconcel-system", "namespace of the installation")
	flags.StringVar(&f.options.Name, "name", "reconcel", "name of the installation; two in one cluster need two names")
	flags.BoolVar(&f.enforced, "enforced-owner-references", false, "permit what the admission plugin OwnerReferencesPermissionEnforcement demands, which OpenShift has on")
}

func (a *app) rbacCommand() *cobra.Command {
	f := &deployFlags{}
	cmd := &cobra.Command{
		Use:   "rbac -f RULES...",
		Short: "Print the permissions that rules need",
		Long: `Print the roles that a process needs to follow the rules, and no more: without
wildcards, and with the reason for each permission. They are bound to a
ServiceAccount that has the name of the installation. What rules write as accounts
(serviceAccountName) is in roles for these.

With --namespaced they are Roles in these namespaces, and there is no ClusterRole.

What is called what in requests is known of Kubernetes' own kinds; for custom
resources their CRDs say it (--crd). No cluster or kubeconfig is read.

Make them again when the rules change. What rules do not name any more, they
still have to take away: keep the old permissions until that is done.

Exit code: 0 printed, 1 the rules are wrong or a kind is not known, 2 wrong
usage.`,
		Example: `  reconcel rbac -f examples/foo/rules.yaml --crd crds/ | kubectl apply -f -`,
		Args:    flagsOnly,
		RunE:    func(*cobra.Command, []string) error { return a.rbac(f) },
	}
	f.flags(cmd.Flags())
	return cmd
}

func (a *app) manifestsCommand() *cobra.Command {
	f := &deployFlags{replicas: count{n: 2, min: 1}}
	cmd := &cobra.Command{
		Use:   "manifests -f RULES...",
		Short: "Print what runs rules in a cluster",
		Long: `Print the objects that run reconcel in a cluster by these rules: Namespace,
ServiceAccount, the permissions that the rules need (as rbac prints them), the
rules in a ConfigMap, Deployment, PodDisruptionBudget, Service, NetworkPolicy, and
a FlowSchema for the Lease.

The CRDs that the rules are about are not among them: apply these first.

With --admission there are policies too, by which whoever makes or changes a
resource must be allowed what the rules make of it.

With --namespaced nothing is printed that belongs to the cluster as a whole: roles
are for these namespaces alone, the namespace of the installation has to exist,
and there is no FlowSchema. Policies (--admission) belong to the cluster all the
same, and ask for nothing in other namespaces.

With --kustomize they are written into a folder, as a base to build on, in which
the rules stay files of their own. Files of the same names are replaced.

Exit code: 0 printed, 1 the rules are wrong or a kind is not known, 2 wrong
usage, 3 the folder cannot be written.`,
		Example: `  reconcel manifests -f examples/foo/rules.yaml --crd crds/ | kubectl apply -f -
  reconcel manifests -f rules/ --crd crds/ --namespaced team-a,team-b -n team-a | kubectl apply -f -
  reconcel manifests -f rules/ --crd crds/ --kustomize deploy/base`,
		Args: flagsOnly,
		RunE: func(*cobra.Command, []string) error { return a.manifests(f) },
	}
	flags := cmd.Flags()
	f.flags(flags)
	flags.StringVar(&f.options.Image, "image", "reconcel:dev", "container image; the default is what make image builds")
	flags.Var(&f.replicas, "replicas", "number of Pods: one works, the others stand by")
	flags.BoolVar(&f.admission, "admission", false, "add policies by which the author of a resource must hold the rights that it causes")
	flags.StringVar(&f.kustomize, "kustomize", "", "write a kustomize base into this `folder`, instead of printing")
	return cmd
}

func (a *app) rbac(f *deployFlags) error {
	known, err := a.needs(f)
	if err != nil {
		return err
	}
	out, err := deploy.Print(f.options.Roles(known.permissions))
	if err != nil {
		return failed(err)
	}
	return a.print(out)
}

func (a *app) manifests(f *deployFlags) error {
	if f.options.Image == "" {
		return misused("invalid argument \"\" for \"--image\" flag: it names no image")
	}
	f.options.Replicas = f.replicas.n
	known, err := a.needs(f)
	if err != nil {
		return err
	}
	files, err := deploy.Files(known.Sources)
	if err != nil {
		return no(err)
	}
	f.options.AllowedKinds = f.allowed
	all := f.options.Manifests(known.permissions, files)
	if missing := f.options.Missing(); missing != "" {
		a.say("left out with --namespaced: %s", missing)
	}
	if f.admission {
		// First, so that nothing is let in before.
		all = append(f.options.Policies(known.Program, known.kinds.Set), all...)
	}
	if f.kustomize != "" {
		return a.writeBase(f, all, files)
	}
	out, err := deploy.Print(all)
	if err != nil {
		return failed(err)
	}
	return a.print(out)
}

// A deployable is what is known of rules that are to be deployed.
type deployable struct {
	judged
	permissions *deploy.Permissions
}

// needs loads the rules, and derives what they need.
func (a *app) needs(f *deployFlags) (*deployable, error) {
	f.options.Namespaced = f.only
	if err := f.options.Validate(); err != nil {
		return nil, misused("%w", err)
	}
	if err := once(f.paths, f.crds); err != nil {
		return nil, err
	}
	j, err := a.judge(&f.offlineRules)
	if err != nil {
		return nil, err
	}
	if err := rejected(j.verdict); err != nil {
		return nil, err
	}
	admission := deploy.Usual
	if f.enforced {
		admission = deploy.EnforcedOwners
	}
	permissions, complaints := deploy.Needs(j.Program, j.kinds.Set, admission)
	if len(complaints) > 0 {
		return nil, no(source.Collect(j.Sources, complaints))
	}
	if err := source.Errors(marked("warning: ", j.verdict.Warnings)).Report(a.stderr); err != nil {
		return nil, failed(err)
	}
	return &deployable{judged: j, permissions: permissions}, nil
}

// writeBase writes a kustomize base, and says what to do with it.
func (a *app) writeBase(f *deployFlags, all []deploy.Manifest, rules []deploy.RulesFile) error {
	files, err := f.options.Base(all, rules)
	if err != nil {
		return failed(err)
	}
	for name, text := range files {
		path := filepath.Join(f.kustomize, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644))
		if err != nil {
			return failed(fmt.Errorf("write the base: %w", err))
		}
	}
	a.say("%s written; apply it with: kubectl apply -k %s", plural(len(files), "file"), f.kustomize)
	return nil
}
