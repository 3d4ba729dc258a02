package write

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Remover deletes objects of a primary that was read live.
type Remover struct {
	*access.Subject
	Reader  *access.Reader
	Answers *access.Answers
	Journal *access.Journal
}

// remove deletes one object of a rule that the primary no longer needs.
func (r *Remover) remove(ctx context.Context, rule *rules.Rule, k ident.Kind, o *watch.Object) error {
	deleted, err := r.removeConfirmed(ctx, rule, k, o, decide.Propagation(rule, o))
	if deleted {
		r.Journal.Pruned(rule, k, o)
	}
	return err
}

// removeConfirmed deletes one object of a rule after a live read of the primary, so
// that a stale cache cannot cause a deletion. It reports whether there was an object.
func (r *Remover) removeConfirmed(ctx context.Context, rule *rules.Rule, k ident.Kind, o *watch.Object,
	policy metav1.DeletionPropagation) (deleted bool, err error) {
	if err := r.Answers.DeletionStands(o); err != nil {
		return false, err
	}
	if err := r.Reader.Confirm(ctx); err != nil {
		return false, err
	}
	was, err := r.Cluster.DeleteOwned(ctx, rule, k, o, r.Req, policy, r.Findings.Leaves)
	if err = r.Answers.NoteDeletion(o, err); err != nil {
		return false, err
	}
	if was.Left {
		r.noteLeft(o.Identity(k.GVK), was.Rest)
		return false, nil
	}
	version := o.GetResourceVersion()
	if was.Deleted != nil {
		version = was.Deleted.GetResourceVersion()
	}
	r.Memory.NoteDeletion(o.GetUID(), access.Deletion{Identity: o.Identity(k.GVK), Version: version})
	return was.Deleted != nil, nil
}

// noteLeft remembers the state of a shared object without the primary's part, if it is known.
func (r *Remover) noteLeft(id rules.Identity, rest *watch.Object) {
	w := r.Memory.Child(id)
	*w = access.Written{Identity: id, Damper: w.Damper, Removed: true, Object: rest}
	if rest != nil {
		w.Version = rest.GetResourceVersion()
	}
}
