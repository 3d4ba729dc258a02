package access

import (
	"context"
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Leaver reports whether an owner of a shared object will leave it anyway.
type Leaver func(*watch.Object, rules.Share) bool

// Stays is the Leaver of owners that keep their objects.
func Stays(*watch.Object, rules.Share) bool { return false }

// DeleteOwned deletes one object of a rule that belongs to an owner. If others share it, and do not leave it, too, it
// removes the owner's part; from an object that reconcel may not have created, it removes what reconcel has written.
// All deletes of children go through here, and every caller has read the owner live. The object is read live first,
// and the write holds for exactly the state that was read.
func (c *Cluster) DeleteOwned(ctx context.Context, rule *rules.Rule, k ident.Kind, o *watch.Object, owner ident.Request,
	policy metav1.DeletionPropagation, leaves Leaver) (was decide.Released, err error) {
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	for range decide.MostLeaves {
		live, err := c.readOwned(ctx, k, o, owner)
		if live == nil || err != nil {
			return decide.Released{}, err
		}
		shared, err := c.hasOtherOwners(ctx, live, owner, leaves)
		switch {
		case err != nil:
			return decide.Released{}, err
		case shared:
			was, err = c.leaveShared(ctx, rule, k, live, owner)
		case live.Terminating(), live.IsShared() && decide.OutlivesPrimary(rule, live):
			return decide.Released{}, nil
		case !live.Made(owner):
			was, err = c.withdraw(ctx, rule, k, live, owner)
		default:
			was, err = c.deleteLive(ctx, rule, k, live, owner, policy)
		}
		if !errors.Is(err, decide.ErrStale) || !live.IsShared() && live.Made(owner) {
			return was, err
		}
	}
	return decide.Released{}, decide.ErrStale
}

// readOwned reads an object from the API server. It returns nil if the object does not exist, and an
// error if the object has changed since the caller read it.
func (c *Cluster) readOwned(ctx context.Context, k ident.Kind, o *watch.Object,
	owner ident.Request) (*watch.Object, error) {
	u, err := c.Resource(k, o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
	if answer.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live := watch.NewObject(u, watch.Child)
	if live.GetUID() != o.GetUID() || !live.BelongsTo(owner) || live.Rule() != o.Rule() || live.Orphan() != o.Orphan() ||
		live.Installation() != o.Installation() || live.LostReference() != o.LostReference() {
		return nil, decide.ErrStale
	}
	return live, nil
}

// deleteLive deletes an object in exactly the state that was read.
func (c *Cluster) deleteLive(ctx context.Context, rule *rules.Rule, k ident.Kind, live *watch.Object,
	owner ident.Request, policy metav1.DeletionPropagation) (decide.Released, error) {
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := c.Writer(rule, owner, k, live.GetNamespace()).delete(ctx, live.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &policy,
	})
	switch {
	case answer.IsAbsent(err):
		return decide.Released{}, nil
	case apierrors.IsConflict(err):
		return decide.Released{}, decide.ErrStale // It changed between the read and the delete.
	case err != nil:
		return decide.Released{}, outcome.ClassifyAnswer(err)
	}
	return decide.Released{Deleted: live}, nil
}

// hasOtherOwners reports whether other primaries than the owner share an object that was
// read live. A part that reconcel did not write counts if its primary exists: another
// writer may have changed it, and the object must not be deleted by mistake.
func (c *Cluster) hasOtherOwners(ctx context.Context, live *watch.Object, owner ident.Request,
	leaves Leaver) (bool, error) {
	if _, shared := live.Share(owner); !shared {
		return false, nil
	}
	for _, s := range live.ClaimedShares() {
		if s.Owner.UID == owner.UID {
			continue
		}
		if live.BelongsTo(s.Owner) {
			if leaves(live, s) {
				continue
			}
			return true, nil
		}
		if exists, err := c.exists(ctx, s.Owner); exists || err != nil {
			return exists, err
		}
	}
	return false, nil
}

// exists reads a primary live.
func (c *Cluster) exists(ctx context.Context, primary ident.Request) (bool, error) {
	k, err := discover.AnyVersion(ctx, c.Kinds, primary.Kind)
	if gone, err := c.JudgeMissing(ctx, primary.Kind, err); gone || err != nil {
		return false, err
	}
	if !k.Namespaced {
		primary.Namespace = ""
	}
	u, err := c.Resource(k, primary.Namespace).Get(ctx, primary.Name, metav1.GetOptions{})
	if answer.IsAbsent(err) {
		return false, nil
	}
	return err == nil && u.GetUID() == primary.UID, err
}

// leaveShared removes the part of an owner from an object that others share. It is valid for
// exactly the state that was read: if two leave at once, the second one is the last.
func (c *Cluster) leaveShared(ctx context.Context, rule *rules.Rule, k ident.Kind, live *watch.Object,
	owner ident.Request) (decide.Released, error) {
	body, err := decide.ShareBody(live.GetUID(), live.GetResourceVersion(), owner.UID, nil)
	if err != nil {
		return decide.Released{}, err
	}
	o, err := c.Writer(rule, owner, k, live.GetNamespace()).Merge(ctx, c.watchOf(owner, k), live.GetName(), body)
	switch {
	case answer.IsAbsent(err):
		return decide.Released{}, nil
	case apierrors.IsConflict(err):
		return decide.Released{}, decide.ErrStale
	case err != nil:
		return decide.Released{}, outcome.ClassifyAnswer(err)
	}
	c.LogAction(outcome.Left, owner, live.Identity(k.GVK), live.Rule(), decide.WhyShared)
	return decide.Released{Left: true, Rest: o}, nil
}

// withdraw removes what reconcel has written to an object of others: first the fields of the rule, and then all marks,
// so that whoever is interrupted finds the object again. Each write is valid for exactly the state that was read, and
// ErrStale asks for the next one.
func (c *Cluster) withdraw(ctx context.Context, rule *rules.Rule, k ident.Kind, live *watch.Object,
	owner ident.Request) (decide.Released, error) {
	fields, marks, err := decide.WithdrawalBodies(k.GVK, live)
	if err != nil {
		return decide.Released{}, err
	}
	writer, as := c.Writer(rule, owner, k, live.GetNamespace()), c.watchOf(owner, k)
	var rest *watch.Object
	if fields != nil {
		if _, err = writer.Apply(ctx, as, "apply", live.GetName(), fields, managedfields.Manager); err == nil {
			err = decide.ErrStale
		}
	} else {
		rest, err = writer.Merge(ctx, as, live.GetName(), marks)
	}
	switch {
	case answer.IsAbsent(err):
		return decide.Released{}, nil
	case errors.Is(err, decide.ErrStale), apierrors.IsConflict(err):
		return decide.Released{}, decide.ErrStale
	case err != nil:
		return decide.Released{}, outcome.ClassifyAnswer(err)
	}
	c.LogAction(outcome.Left, owner, live.Identity(k.GVK), rule.Name, decide.WhyExtended)
	return decide.Released{Left: true, Rest: rest}, nil
}

// DisownObject removes the annotations that name a primary as the owner of an object.
func (c *Cluster) DisownObject(ctx context.Context, rule *rules.Rule, owner ident.Request, k ident.Kind,
	o *watch.Object) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "annotations": map[string]any{rules.AnnotationOwner: nil, rules.ShareKey(owner.UID): nil},
	}})
	if err != nil {
		return err
	}
	if _, err := c.Writer(rule, owner, k, o.GetNamespace()).Merge(ctx, nil, o.GetName(), body); err != nil &&
		!answer.IsAbsent(err) {
		return outcome.ClassifyAnswer(err)
	}
	c.LogAction(outcome.Left, owner, o.Identity(k.GVK), rule.Name, decide.WhyOrphaned)
	return nil
}
