package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// Uninstall removes an installation from the cluster: its finalizers on
// primaries, its children if DeleteChildren is set, its Lease, the text of its rules and its inventory.
// The inventory says where to look. Uninstall returns an error while a process of
// the installation is running. After a failure it continues with the other
// objects, but keeps the Lease and the inventory so that it can be repeated.
func Uninstall(ctx context.Context, options access.Options, what Uninstallation) error {
	options = options.WithDefaults()
	c, err := connect(options.Config, options.Log)
	if err != nil {
		return fmt.Errorf("client configuration: %w", err)
	}
	deps, _ := inCluster(c, options)
	u := &uninstaller{Uninstallation: what, engine: NewEngine(deps, options, nil)}
	u.engine.JudgeMissing = plan.JudgeByCRD(u.engine.Client)
	if err := u.standsStill(ctx); err != nil {
		return err
	}
	entries, found, err := u.engine.Inventory.Entries(ctx)
	if err != nil {
		return err
	}
	own := inventory.Name(options.Name)
	if !found {
		return fmt.Errorf("there is no inventory ConfigMap/%s/%s: check --namespace and --name; the installation may "+
			"already be gone", options.Namespace, own)
	}
	for _, key := range inventory.SortedKeys(entries) {
		u.note(u.uninstallRule(ctx, inventory.RemovedRule{Name: key.Rule, Entry: entries[key]}))
	}
	if len(u.problems) > 0 {
		return errors.Join(u.problems...)
	}
	configMaps := u.engine.Client.Resource(inventory.Resource).Namespace(options.Namespace)
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
	engine   *Engine
	problems []error
}

func (u *uninstaller) note(err error) {
	if err != nil {
		u.problems = append(u.problems, err)
	}
}

// act changes one object, unless it is a dry run, and tells the user.
func (u *uninstaller) act(doing, subject, done string, change func() error) error {
	if !u.DryRun {
		if err := change(); err != nil {
			return fmt.Errorf("%s %s: %w", doing, subject, err)
		}
	}
	u.Tell(subject, done)
	return nil
}

// standsStill returns an error while a process of the installation is running.
func (u *uninstaller) standsStill(ctx context.Context) error {
	o := u.engine.Options
	t := u.engine.Cluster.LeadershipOf(ctx, u.engine.Installation)
	switch t.State {
	case plan.LeaseHeld:
		return fmt.Errorf("the installation %q is running, %s: stop it first (in a cluster: kubectl -n %s scale "+
			"deployment/%s --replicas=0)",
			u.engine.Installation, t.Says, o.Namespace, o.Name)
	case plan.LeaseUnknown:
		return fmt.Errorf("cannot tell whether the installation %q is running, %s", u.engine.Installation, t.Says)
	}
	return nil
}

// uninstallRule removes the objects, patches and finalizers of one rule for one
// kind of primary. Finalizers are removed last: without them, a primary could be
// deleted although some of its children remain.
func (u *uninstaller) uninstallRule(ctx context.Context, r inventory.RemovedRule) error {
	var errs []error
	paused := map[types.UID]bool{}
	if u.DeleteChildren {
		errs = append(errs, u.engine.Cluster.EachPrimary(ctx, r.Primary(), func(k ident.Kind, o *watch.Object) error {
			paused[rules.UIDOf(r.Primary(), o)] = o.Paused()
			return u.unpatch(ctx, r.Name, k, o)
		}))
		for _, gvk := range r.Kinds() {
			errs = append(errs, u.deleteChildren(ctx, r, gvk, paused))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("rule %q: %w", r.Name, err)
	}
	if err := u.uninstallPrimaries(ctx, r); err != nil {
		return fmt.Errorf("rule %q: %w", r.Name, err)
	}
	return nil
}

// uninstallPrimaries removes what the rule has on its primaries, or the ConfigMap that
// stands for them.
func (u *uninstaller) uninstallPrimaries(ctx context.Context, r inventory.RemovedRule) error {
	if r.Primary() == rules.BundleKind.GroupKind() {
		maps := u.engine.Client.Resource(inventory.Resource).Namespace(u.engine.Options.Namespace)
		return u.deleteOwn(ctx, "ConfigMap", maps, u.engine.Cluster.BundleOf(r.Name).Name)
	}
	return u.engine.Cluster.EachPrimary(ctx, r.Primary(), func(k ident.Kind, o *watch.Object) error {
		return errors.Join(u.release(ctx, r.Name, k, o), u.removeAnnotation(ctx, k, o))
	})
}

func (u *uninstaller) release(ctx context.Context, rule string, k ident.Kind, o *watch.Object) error {
	mark := write.MarkOf(o, rule)
	if mark == "" {
		return nil
	}
	subject := ident.SubjectOf(k, o)
	return u.act("remove the "+mark+" of", subject, mark+" removed", func() error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			err := u.engine.Cluster.RemoveFinalizer(ctx, k, o, rule)
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
	return u.act("remove the annotation of", subject, "annotation "+rules.AnnotationStatus+" removed", func() error {
		return u.engine.Cluster.RemoveAnnotation(ctx, k, o)
	})
}

func (u *uninstaller) unpatch(ctx context.Context, rule string, k ident.Kind, o *watch.Object) error {
	if !plan.PatcherOf(&rules.Rule{Name: rule}).HasPatched(o) {
		return nil
	}
	subject := ident.SubjectOf(k, o)
	if o.Paused() {
		u.Tell(subject, "patch kept: it is paused")
		return nil
	}
	return u.act("revert the patch of", subject, "patch reverted", func() error {
		return u.engine.Cluster.RevertPatch(ctx, k, o, &rules.Rule{Name: rule})
	})
}

// deleteChildren deletes the rule's children of one kind that have the mark of
// this installation. It uses the permissions of the user who uninstalls, without
// impersonation.
func (u *uninstaller) deleteChildren(ctx context.Context, r inventory.RemovedRule, gvk schema.GroupVersionKind,
	paused map[types.UID]bool) error {
	var errs []error
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
		errs = append(errs, u.act("delete", subject, done, func() error {
			_, err := u.engine.Cluster.DeleteOwned(ctx, &rules.Rule{Name: r.Name}, k, o, owner,
				metav1.DeletePropagationBackground, access.Stays)
			return err
		}))
	})
	return errors.Join(append(errs, err)...)
}

func (u *uninstaller) deleteOwn(ctx context.Context, kind string, by dynamic.ResourceInterface, name string) error {
	subject := strings.Join([]string{kind, u.engine.Options.Namespace, name}, "/")
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	var err error
	if u.DryRun {
		_, err = by.Get(ctx, name, metav1.GetOptions{})
	} else {
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
