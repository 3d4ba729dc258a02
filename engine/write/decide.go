package write

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Known has the facts for a decision besides the rendering and the live object.
type Known struct {
	Primary ident.Request
	Since   metav1.Time     // when the primary was created
	Ending  bool            // the primary is being deleted
	rules   []*rules.Rule   // all rules of the primary's kind
	Written *access.Written // our last write of the object
	Deleted bool            // we have deleted the live object already
	// released: the object is of another bundle, whose rule is gone or does not want it.
	released bool
	again    bool // a done object is to be done again
	retry    bool // a Job that failed is tried again when it is gone
	Renew    bool // apply the object even if it has not drifted

	findings *access.Findings
}

// Decide returns the next step for one object of a child. live is the object from the
// cache or the API server, or nil if it does not exist. Decide sends no requests.
func Decide(d *rules.Desired, live *watch.Object, k Known) decide.Step {
	switch {
	case d.Done != nil && k.missesNothing(d, live):
		return decide.Step{Action: outcome.Unchanged}
	case live == nil && len(d.Waits) > 0:
		return decide.SkipFor(decide.ForValues)
	case live == nil:
		return decide.Step{Action: outcome.Created}
	case live.Terminating() || k.Deleted:
		return decide.SkipFor(decide.ForDeletion) // No matter who owns it: the name becomes free.
	case k.extendedBefore(d, live):
		return decide.SkipFor(decide.ForName) // It would be deleted later, and is one of others.
	case d.Child.Shared:
		return decideShared(d, live, k)
	case !k.owns(d, live):
		return k.decideForeign(d, live)
	case k.again && d.Done.UID == live.GetUID():
		return decide.Step{Action: outcome.Replaced}
	case decide.KeepsExisting(d.Child):
		return decide.Step{Action: outcome.Unchanged}
	case len(d.Waits) > 0 && !decide.CarriesRendering(live, d):
		return decide.SkipFor(decide.ForValues)
	case needsReplacement(d, live, k.Written) && !k.hasRun(d, live):
		return decide.Step{Action: outcome.Replaced}
	case k.Renew || drifted(d, live, k.Written) || decide.Moved(d, live) || !live.BelongsTo(k.Primary):
		return decide.Step{Action: outcome.Configured}
	}
	return decide.Step{Action: outcome.Unchanged}
}

// decideForeign decides about an object that does not belong to the primary. If a
// former primary of the same name controls it, the garbage collector deletes it
// soon.
func (k *Known) decideForeign(d *rules.Desired, live *watch.Object) decide.Step {
	former, controlled := live.Controller()
	switch adoptable := d.Child.Adopt && k.adoptable(live) || k.takesBack(d, live) || k.inheritsFromBundle(d, live); {
	case adoptable && len(d.Waits) > 0:
		return decide.SkipFor(decide.ForValues)
	case adoptable && !k.Ending:
		return decide.Step{Action: outcome.Adopted}
	case controlled && k.isFormer(former):
		return decide.SkipFor(decide.ForDeletion)
	}
	return decide.SkipFor(decide.ForName)
}

// owns reports whether an object belongs to the primary, by its controller
// reference or by our tracking annotation. If another writer has removed both, our
// own write is the proof: the remembered UID, the hash on the object, which covers
// the owner's UID, or the labels that we own.
func (k *Known) owns(d *rules.Desired, o *watch.Object) bool {
	if o.BelongsTo(k.Primary) {
		return true
	}
	by := o.OwnerUID()
	if by != "" && by != k.Primary.UID {
		return false
	}
	return k.Written.UID != "" && k.Written.UID == o.GetUID() || k.carries(d, o) ||
		by == "" && decide.KeepsExisting(d.Child) && decide.IsAbandoned(k.rules, o) ||
		by == "" && k.labelled(d, o)
}

// carries reports whether the object has the primary's rendering. That of a shared object is
// the same for all owners, so that it also has to name the primary.
func (k *Known) carries(d *rules.Desired, o *watch.Object) bool {
	if _, named := rules.ShareOf(o.Content(), k.Primary.UID); d.Child.Shared && !named {
		return false
	}
	return decide.CarriesRendering(o, d)
}

// labelled reports whether our own write has labelled an object as this child since the
// primary was created, and another writer has removed all annotations of ours. An object
// that the garbage collector orphaned still has the hash, and stays unchanged: its
// primary may have been another one.
func (k *Known) labelled(d *rules.Desired, o *watch.Object) bool {
	created := o.GetCreationTimestamp()
	_, marked := o.GetAnnotations()[rules.AnnotationOwner]
	return o.HasOwnLabel() && o.Rule() == d.Child.Rule.Name && o.Child() == d.Child.ID && !marked && !o.Orphan() &&
		o.Applied() == watch.NoHash &&
		!k.Since.IsZero() && !created.Before(&k.Since)
}

// adoptable reports whether the object has no owner. If it tracks a former primary
// of the same name, that primary left it behind, and so did the primary of an object of
// replicas without an owner reference.
func (k *Known) adoptable(o *watch.Object) bool {
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
	former.UID = k.Primary.UID
	return former == k.Primary
}

// takesBack reports whether a former primary of the same name orphaned the object,
// and the same rule and child created it. It is adopted even without ifExists:
// adopt, as a StatefulSet adopts its PersistentVolumeClaims again.
func (k *Known) takesBack(d *rules.Desired, o *watch.Object) bool {
	former, tracked := o.Owner()
	return tracked && o.Orphan() && o.BelongsTo(former) && o.Rule() == d.Child.Rule.Name && o.Child() == d.Child.ID &&
		k.adoptable(o)
}

// isFormer reports whether an owner was a primary of the same name. The
// namespace of a controller reference is that of its object.
func (k *Known) isFormer(owner ident.Request) bool {
	return owner.Kind == k.Primary.Kind && owner.Name == k.Primary.Name && owner.UID != k.Primary.UID &&
		(k.Primary.Namespace == "" || k.Primary.Namespace == owner.Namespace)
}

// needsReplacement reports whether an object must be deleted and created again,
// because it was made from another rendering. An object without a hash is not known
// to have another rendering, and is not deleted on suspicion.
func needsReplacement(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	if !d.Child.Replaces() || decide.CarriesRendering(live, d) || live.Applied() == watch.NoHash {
		return false
	}
	return (w.UID != live.GetUID() || w.Hash != d.Hash) && !decide.DiffersInVersions(d, live)
}
