package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/cleanup"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/leader"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/engine/write"
	"reconcel/rules"
)

// An Uninstallation has the options of Uninstall.
type Uninstallation struct {
	// DeleteChildren deletes the children that have the mark of the installation
	// and reverts its patches. Without it, both stay.
	DeleteChildren bool
	DryRun         bool
	// Tell is called for each object that was changed, deleted or kept. In a dry
	// run it is called for each object that would be.
	Tell func(object, what string)
}

// ErrNotInstalled says that an installation has no inventory.
var ErrNotInstalled = errors.New("check --namespace and --name; the installation may already be gone")

// Uninstall removes an installation from the cluster: its finalizers on
// primaries, its children if DeleteChildren is set, its Lease, the text of its rules and its inventory.
// The inventory says where to look. What a rule has on its primaries stays if the inventory of another
// installation has the rule, too: nothing says whose it is. Uninstall returns an error while a process of
// the installation is running, and stops as soon as one starts. After another failure it continues with the
// other objects, but keeps the Lease and the inventory so that it can be repeated.
func Uninstall(ctx context.Context, options access.Options, what Uninstallation) error {
	options = options.WithDefaults()
	c, err := connect(options.Config, options.Log)
	if err != nil {
		return fmt.Errorf("client configuration: %w", err)
	}
	deps, _ := inCluster(c, options)
	return UninstallWith(ctx, deps, options, what)
}

// UninstallWith is Uninstall with other dependencies than those of a process. Options.Config is not used.
func UninstallWith(ctx context.Context, deps Dependencies, options access.Options, what Uninstallation) error {
	options = options.WithDefaults()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	u := &uninstaller{Uninstallation: what, engine: NewEngine(deps, options, nil), stop: stop}
	u.engine.JudgeMissing = plan.JudgeByCRD(u.engine.Client)
	err := u.uninstall(ctx)
	if why := context.Cause(ctx); why != nil {
		return errors.Join(append(beforeEnd(err), why)...)
	}
	return err
}

// beforeEnd returns the errors in a joined one that are not about the end of the context.
func beforeEnd(err error) (all []error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, beforeEnd(e)...)
		}
		return all
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return []error{err}
}

func (u *uninstaller) uninstall(ctx context.Context) error {
	if err := u.standsStill(ctx); err != nil {
		return err
	}
	entries, found, err := u.engine.Inventory.Entries(ctx)
	if err != nil {
		return err
	}
	options := u.engine.Options
	own := inventory.Name(options.Name)
	if !found {
		return fmt.Errorf("there is no inventory ConfigMap/%s/%s: %w", options.Namespace, own, ErrNotInstalled)
	}
	if u.others, err = u.othersWith(ctx, entries); err != nil {
		return err
	}
	var problems []error
	for _, key := range inventory.SortedKeys(entries) {
		problems = append(problems, u.uninstallRule(ctx, inventory.RemovedRule{Name: key.Rule, Entry: entries[key]}))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	configMaps := u.engine.Client.Resource(inventory.Resource).Namespace(options.Namespace)
	u.changes = 0
	if err := u.deleteOwn(ctx, "Lease", u.engine.Client.Resource(leader.Resource).Namespace(options.Namespace),
		options.Name); err != nil {
		return err
	}
	for _, name := range append(inventory.TextNames(options.Name), own) {
		if err := u.deleteOwn(ctx, "ConfigMap", configMaps, name); err != nil {
			return err
		}
	}
	return nil
}

// An uninstaller is one run of Uninstall.
type uninstaller struct {
	Uninstallation
	engine  *Engine
	stop    context.CancelCauseFunc
	others  map[inventory.Key]string // other installations with the same rules
	changes int                      // since uninstallRule began
	unknown error                    // why the changes up to the next check fail
}

// othersWith returns which other installations have a rule in their inventories, by rule.
func (u *uninstaller) othersWith(ctx context.Context, own map[inventory.Key]inventory.Entry) (map[inventory.Key]string,
	error) {
	namespaces := u.engine.Cluster.Scope().Namespaces()
	if len(u.engine.Options.Namespaces) > 0 {
		namespaces = append(slices.Clone(namespaces), u.engine.Options.Namespace)
	}
	found := map[inventory.Key][]string{}
	for _, namespace := range namespaces {
		list, err := u.engine.Client.Resource(inventory.Resource).Namespace(namespace).List(ctx,
			metav1.ListOptions{LabelSelector: inventory.Selector})
		if err != nil {
			return nil, fmt.Errorf("cannot tell whether other installations have the same rules: %w", err)
		}
		for i := range list.Items {
			stored, ok := inventory.Of(&list.Items[i])
			installation := stored.Namespace + "/" + stored.Installation
			if !ok || installation == u.engine.Installation {
				continue
			}
			entries, err := stored.Entries()
			if err != nil {
				return nil, fmt.Errorf("cannot tell whether the installation %q has the same rules: %w", installation, err)
			}
			for key := range entries {
				if _, both := own[key]; both && !slices.Contains(found[key], installation) {
					found[key] = append(found[key], installation)
				}
			}
		}
	}
	others := map[inventory.Key]string{}
	for key, installations := range found {
		others[key] = strings.Join(slices.Sorted(slices.Values(installations)), ", ")
	}
	return others, nil
}

// keeps reports whether something that a rule has on a primary stays, and tells the user why.
func (u *uninstaller) keeps(r inventory.RemovedRule, subject, what string) bool {
	others := u.others[inventory.Key{Rule: r.Name, Kind: r.For}]
	if others != "" {
		u.Tell(subject, what+" kept: the rule is also in the inventory of "+others)
	}
	return others != ""
}

// act changes one object, unless it is a dry run, and tells the user.
func (u *uninstaller) act(ctx context.Context, doing, subject, done string, change func() error) error {
	if !u.DryRun {
		err := u.mayChange(ctx)
		if err == nil {
			err = change()
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", doing, subject, err)
		}
	}
	u.Tell(subject, done)
	return nil
}

// batch is how many changes follow each check that no process has started.
const batch = 20

// mayChange stops the uninstallation if a process of the installation has started. If that cannot be
// told, the changes up to the next check fail.
func (u *uninstaller) mayChange(ctx context.Context) error {
	if u.changes%batch == 0 && ctx.Err() == nil {
		if u.unknown = u.standsStill(ctx); errors.Is(u.unknown, errRuns) {
			u.stop(u.unknown)
		}
	}
	u.changes++
	if err := ctx.Err(); err != nil {
		return err
	}
	return u.unknown
}

// errRuns means that a process of the installation is running.
var errRuns = errors.New("is running")

// leaseReads are the attempts to read the Lease.
var leaseReads = wait.Backoff{Steps: 4, Duration: 100 * time.Millisecond, Factor: 3}

// standsStill returns an error while a process of the installation is running, or if that cannot be told.
func (u *uninstaller) standsStill(ctx context.Context) error {
	o := u.engine.Options
	var t plan.Leadership
	_ = wait.ExponentialBackoffWithContext(ctx, leaseReads, func(ctx context.Context) (known bool, _ error) {
		t = u.engine.Cluster.LeadershipOf(ctx, u.engine.Installation)
		return t.State != plan.LeaseUnknown, nil
	}) // The State says whether it failed.
	switch t.State {
	case plan.LeaseHeld:
		return fmt.Errorf("the installation %q %w, %s: stop it first (in a cluster: kubectl -n %s scale "+
			"deployment/%s --replicas=0)",
			u.engine.Installation, errRuns, t.Says, o.Namespace, o.Name)
	case plan.LeaseUnknown:
		return fmt.Errorf("cannot tell whether the installation %q is running, %s", u.engine.Installation, t.Says)
	}
	return nil
}

// uninstallRule removes the objects, patches and finalizers of one rule for one
// kind of primary. Finalizers are removed last: without them, a primary could be
// deleted although some of its children remain.
func (u *uninstaller) uninstallRule(ctx context.Context, r inventory.RemovedRule) error {
	u.changes = 0
	var errs []error
	paused := map[types.UID]bool{}
	if u.DeleteChildren {
		err := u.engine.Cluster.EachPrimary(ctx, r.Primary(), func(k ident.Kind, o *watch.Object) {
			paused[rules.UIDOf(r.Primary(), o)] = o.Paused()
			errs = append(errs, u.unpatch(ctx, r, k, o))
		})
		if err != nil { // Without the list of primaries, those of paused ones are not known.
			return inRule(r, append(errs, err))
		}
		for _, gvk := range r.Kinds() {
			errs = append(errs, u.deleteChildren(ctx, r, gvk, paused)...)
		}
	}
	if err := inRule(r, errs); err != nil {
		return err
	}
	return inRule(r, u.uninstallPrimaries(ctx, r))
}

// inRule joins errors, each with the name of the rule.
func inRule(r inventory.RemovedRule, errs []error) error {
	var named []error
	for _, err := range errs {
		if err != nil {
			named = append(named, fmt.Errorf("rule %q: %w", r.Name, err))
		}
	}
	return errors.Join(named...)
}

// uninstallPrimaries removes what the rule has on its primaries, or the ConfigMap that
// stands for them.
func (u *uninstaller) uninstallPrimaries(ctx context.Context, r inventory.RemovedRule) (errs []error) {
	if r.Primary() == rules.BundleKind.GroupKind() {
		maps := u.engine.Client.Resource(inventory.Resource).Namespace(u.engine.Options.Namespace)
		return []error{u.deleteOwn(ctx, "ConfigMap", maps, u.engine.Cluster.BundleOf(r.Name).Name)}
	}
	err := u.engine.Cluster.EachPrimary(ctx, r.Primary(), func(k ident.Kind, o *watch.Object) {
		errs = append(errs, u.release(ctx, r, k, o), u.removeAnnotation(ctx, k, o))
	})
	return append(errs, err)
}

func (u *uninstaller) release(ctx context.Context, r inventory.RemovedRule, k ident.Kind, o *watch.Object) error {
	mark, subject := write.MarkOf(o, r.Name), ident.SubjectOf(k, o)
	if mark == "" || u.keeps(r, subject, mark) {
		return nil
	}
	return u.act(ctx, "remove the "+mark+" of", subject, mark+" removed", func() error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			err := u.engine.Cluster.RemoveFinalizer(ctx, k, o, r.Name)
			if apierrors.IsConflict(err) {
				if live, readErr := u.engine.Cluster.Resource(k, o.GetNamespace()).Get(ctx, o.GetName(),
					metav1.GetOptions{}); readErr == nil {
					o = watch.NewObject(live, watch.Primary)
				}
			}
			return err
		})
	})
}

func (u *uninstaller) removeAnnotation(ctx context.Context, k ident.Kind, o *watch.Object) error {
	if !u.engine.Cluster.Annotator().HasPatched(o) {
		return nil
	}
	subject := ident.SubjectOf(k, o)
	return u.act(ctx, "remove the annotation of", subject, "annotation "+rules.AnnotationStatus+" removed", func() error {
		return u.engine.Cluster.RemoveAnnotation(ctx, k, o)
	})
}

func (u *uninstaller) unpatch(ctx context.Context, r inventory.RemovedRule, k ident.Kind, o *watch.Object) error {
	rule, subject := &rules.Rule{Name: r.Name}, ident.SubjectOf(k, o)
	if !plan.PatcherOf(rule).HasPatched(o) || u.keeps(r, subject, "patch") {
		return nil
	}
	if o.Paused() {
		u.Tell(subject, "patch kept: it is paused")
		return nil
	}
	return u.act(ctx, "revert the patch of", subject, "patch reverted", func() error {
		return u.engine.Cluster.RevertPatch(ctx, k, o, rule)
	})
}

// deleteChildren deletes the rule's children of one kind that have the mark of
// this installation. It uses the permissions of the user who uninstalls, without
// impersonation.
func (u *uninstaller) deleteChildren(ctx context.Context, r inventory.RemovedRule, gvk schema.GroupVersionKind,
	paused map[types.UID]bool) (errs []error) {
	s := &cleanup.Removal{Cluster: u.engine.Cluster, Rule: r}
	err := s.EachChild(ctx, gvk, func(k ident.Kind, o *watch.Object, owner ident.Request) {
		subject := ident.SubjectOf(k, o)
		switch {
		case o.Terminating():
			return
		case o.Installation() != u.engine.Installation:
			u.Tell(subject, "kept: it has no mark of this installation")
			return
		case paused[owner.UID]:
			u.Tell(subject, "kept: "+owner.String()+" is paused")
			return
		}
		done := "deleted"
		if shares := o.Shares(); len(shares) > 0 && owner.UID != shares[len(shares)-1].Owner.UID {
			done = "no longer shared by " + owner.String()
		}
		errs = append(errs, u.act(ctx, "delete", subject, done, func() error {
			_, err := u.engine.Cluster.DeleteOwned(ctx, &rules.Rule{Name: r.Name}, k, o, owner,
				metav1.DeletePropagationBackground, access.Stays)
			return err
		}))
	})
	return append(errs, err)
}

func (u *uninstaller) deleteOwn(ctx context.Context, kind string, by dynamic.ResourceInterface, name string) error {
	subject := strings.Join([]string{kind, u.engine.Options.Namespace, name}, "/")
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	var err error
	if u.DryRun {
		_, err = by.Get(ctx, name, metav1.GetOptions{})
	} else if err = u.mayChange(ctx); err == nil {
		err = by.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if answer.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", subject, err)
	}
	u.Tell(subject, "deleted")
	return nil
}
