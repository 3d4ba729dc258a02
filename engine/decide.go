package engine

import (
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// A step is the action on one object of a child. A skipped object waits for
// something.
type step struct {
	action Action
	waits  waitFor
}

// A waitFor is what a skipped object waits for.
type waitFor int

const (
	forValues      waitFor = iota + 1 // Desired.Waits names them
	forDeletion                       // of the object that has the name now
	forOwnDeletion                    // the same, and we have just deleted that object
	forNamespace                      // the namespace is being deleted and accepts no new objects
	forReplacement                    // the child cannot spare the object yet
	forOthers                         // other objects of the child could not be created
	forName                           // another owner holds the name
)

func skipFor(w waitFor) step { return step{Skipped, w} }

// known has the facts for a decision besides the rendering and the live object.
type known struct {
	primary Request
	since   metav1.Time   // when the primary was created
	ending  bool          // the primary is being deleted
	rules   []*rules.Rule // all rules of the primary's kind
	written *written      // our last write of the object
	deleted bool          // we have deleted the live object already
	again   bool          // a done object is to be done again
	retry   bool          // a Job that failed is tried again when it is gone
	renew   bool          // apply the object even if it has not drifted
}

// decide returns the next step for one object of a child. It does no I/O, so it
// treats all objects alike: from the cache (nil if there is none), read after a
// conflict, or of another owner.
func decide(d *rules.Desired, live *watch.Object, k known) step {
	switch {
	case d.Done != nil && k.missesNothing(d, live):
		return step{action: Unchanged}
	case live == nil && len(d.Waits) > 0:
		return skipFor(forValues)
	case live == nil:
		return step{action: Created}
	case live.Terminating() || k.deleted:
		return skipFor(forDeletion) // No matter who owns it: the name becomes free.
	case d.Child.Shared:
		return decideShared(d, live, k)
	case !k.owns(d, live):
		return k.decideForeign(d, live)
	case k.again && d.Done.UID == live.GetUID():
		return step{action: Replaced}
	case keepsExisting(d.Child):
		return step{action: Unchanged}
	case len(d.Waits) > 0 && !carriesRendering(live, d):
		return skipFor(forValues)
	case needsReplacement(d, live, k.written) && !k.hasRun(d, live):
		return step{action: Replaced}
	case k.renew || drifted(d, live, k.written) || moved(d, live) || !live.BelongsTo(k.primary):
		return step{action: Configured}
	}
	return step{action: Unchanged}
}

// decideForeign decides about an object that does not belong to the primary. If a
// former primary of the same name controls it, the garbage collector deletes it
// soon.
func (k *known) decideForeign(d *rules.Desired, live *watch.Object) step {
	former, controlled := live.Controller()
	switch adoptable := d.Child.Adopt && k.adoptable(live) || k.takesBack(d, live) || k.inheritsFromBundle(d, live); {
	case adoptable && len(d.Waits) > 0:
		return skipFor(forValues)
	case adoptable && !k.ending:
		return step{action: Adopted}
	case controlled && k.isFormer(former):
		return skipFor(forDeletion)
	}
	return skipFor(forName)
}

// owns reports whether an object belongs to the primary, by its controller
// reference or by our tracking annotation. If another writer has removed both, our
// own write is the proof: the remembered UID, the hash on the object, which covers
// the owner's UID, or the labels that we own.
func (k *known) owns(d *rules.Desired, o *watch.Object) bool {
	if o.BelongsTo(k.primary) {
		return true
	}
	by := o.OwnerUID()
	if by != "" && by != k.primary.UID {
		return false
	}
	return k.written.uid != "" && k.written.uid == o.GetUID() || k.carries(d, o) || by == "" && keepsExisting(d.Child) && isAbandoned(k.rules, o) ||
		by == "" && k.labelled(d, o)
}

// carries reports whether the object has the primary's rendering. That of a shared object is
// the same for all owners, so that it also has to name the primary.
func (k *known) carries(d *rules.Desired, o *watch.Object) bool {
	if _, named := rules.ShareOf(o.Content(), k.primary.UID); d.Child.Shared && !named {
		return false
	}
	return carriesRendering(o, d)
}

// labelled reports whether our own write has labelled an object as this child since the
// primary was created, and another writer has removed all annotations of ours. An object
// that the garbage collector orphaned still has the hash, and stays unchanged: its
// primary may have been another one.
func (k *known) labelled(d *rules.Desired, o *watch.Object) bool {
	created := o.GetCreationTimestamp()
	_, marked := o.GetAnnotations()[rules.AnnotationOwner]
	return o.HasOwnLabel() && o.Rule() == d.Child.Rule.Name && o.Child() == d.Child.ID && !marked && !o.Orphan() && o.Applied() == watch.NoHash &&
		!k.since.IsZero() && !created.Before(&k.since)
}

// adoptable reports whether the object has no owner. If it tracks a former primary
// of the same name, that primary left it behind, and so did the primary of an object of
// replicas without an owner reference.
func (k *known) adoptable(o *watch.Object) bool {
	if _, controlled := o.Controller(); controlled || o.Terminating() {
		return false
	}
	if o.LostReference() {
		return true
	}
	if len(o.Shares()) > 0 {
		return false
	}
	former, tracked := o.Owner()
	if !tracked {
		_, marked := o.GetAnnotations()[rules.AnnotationOwner]
		return !marked // An unreadable annotation may be another owner's.
	}
	former.UID = k.primary.UID
	return former == k.primary
}

// takesBack reports whether a former primary of the same name orphaned the object,
// and the same rule and child created it. It is adopted even without ifExists:
// adopt, as a StatefulSet adopts its PersistentVolumeClaims again.
func (k *known) takesBack(d *rules.Desired, o *watch.Object) bool {
	former, tracked := o.Owner()
	return tracked && o.Orphan() && o.BelongsTo(former) && o.Rule() == d.Child.Rule.Name && o.Child() == d.Child.ID && k.adoptable(o)
}

// isFormer reports whether a controller was a primary of the same name. The
// namespace of a controller reference is that of its object.
func (k *known) isFormer(controller Request) bool {
	return controller.Kind == k.primary.Kind && controller.Name == k.primary.Name && controller.UID != k.primary.UID &&
		(k.primary.Namespace == "" || k.primary.Namespace == controller.Namespace)
}

// isAbandoned reports whether an object without an owner comes from a child that
// reconcel does not update: another writer removed the owner, and reconcel does not
// restore it.
func isAbandoned(all []*rules.Rule, o *watch.Object) bool {
	for _, r := range all {
		if r.Name != o.Rule() {
			continue
		}
		for _, c := range r.Children {
			if c.ID == o.Child() {
				return keepsExisting(c)
			}
		}
	}
	return false
}

// keepsExisting reports whether reconcel leaves existing objects of the child alone.
func keepsExisting(c *rules.Child) bool { return c.OnChange == rules.Keep || c.Timeout > 0 }

// needsReplacement reports whether an object must be deleted and created again,
// because it was made from another rendering. An object without a hash is not known
// to have another rendering, and is not deleted on suspicion.
func needsReplacement(d *rules.Desired, live *watch.Object, w *written) bool {
	if !d.Child.Replaces() || carriesRendering(live, d) || live.Applied() == watch.NoHash {
		return false
	}
	return (w.uid != live.GetUID() || w.hash != d.Hash) && !differsInVersions(d, live)
}

// differsInVersions reports whether an object was made from the same rendering in other versions of its
// own kind or of its primary's. An apply writes the new ones.
func differsInVersions(d *rules.Desired, live *watch.Object) bool {
	hash := d.HashIn(live.AppliedVersion(), live.ControllerVersion())
	return hex.EncodeToString(hash[:]) == live.Applied()
}
