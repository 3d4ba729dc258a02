package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// Several primaries may share an object. Each of them has an annotation on it. An annotation
// that another writer set, in a copy, a restored backup or on purpose, does not count.

// Shares returns the parts of all owners of a shared object, sorted by UID. An object that has
// a single owner is not shared.
func (o *Object) Shares() (all []rules.Share) {
	if o.exclusive() {
		return nil
	}
	for _, s := range rules.SharesOf(o.content) {
		if o.wroteShare(s.Owner.UID) {
			all = append(all, s)
		}
	}
	return all
}

// Share returns the part of a primary in a shared object.
func (o *Object) Share(primary rules.Owner) (s rules.Share, ok bool) {
	s, ok = rules.ShareOf(o.content, primary.UID)
	if !ok || o.exclusive() || s.Owner.Kind != primary.Kind || s.Owner.Name != primary.Name ||
		primary.Namespace != "" && s.Owner.Namespace != primary.Namespace {
		return rules.Share{}, false
	}
	return s, o.wroteShare(primary.UID)
}

// ClaimedShares returns what the annotations of owners say, whoever wrote them.
func (o *Object) ClaimedShares() []rules.Share { return rules.SharesOf(o.content) }

// IsShared reports whether our own write marked the object as one that several primaries
// may share, and no primary owns it alone.
func (o *Object) IsShared() bool {
	return (o.wrote(rules.AnnotationShared, rules.SharedOwn) || o.marksExtended()) && !o.exclusive()
}

// Made reports whether reconcel certainly created the object for a primary, or adopted it. Others may have created
// any other object: it stays when its primaries are deleted.
func (o *Object) Made(primary rules.Owner) bool {
	return o.ownedBy(primary) || o.wrote(rules.AnnotationShared, rules.SharedOwn) ||
		o.wrote(rules.AnnotationCreated, "true")
}

// Extended reports whether the object is marked as one that others created and primaries extend.
func (o *Object) Extended() bool {
	return o.annotation(rules.AnnotationShared) == rules.SharedExtended && !o.exclusive() &&
		!o.wrote(rules.AnnotationCreated, "true")
}

// marksExtended reports whether our own write marked the object as one that primaries extend.
func (o *Object) marksExtended() bool { return o.wrote(rules.AnnotationShared, rules.SharedExtended) }

// wrote reports whether the object has an annotation with this value, by our own write.
func (o *Object) wrote(annotation, value string) bool {
	return o.annotation(annotation) == value && o.Fields().Names(annotation)
}

// AppliedShare reports whether an apply of ours set the annotation of an owner. The next
// apply has to repeat it.
func (o *Object) AppliedShare(owner types.UID) bool {
	return o.Fields().Set().Has("metadata", "annotations", rules.ShareKey(owner))
}

func (o *Object) wroteShare(owner types.UID) bool {
	return o.ShareFields().Set().Has("metadata", "annotations", rules.ShareKey(owner)) || o.AppliedShare(owner)
}

// exclusive reports whether a single primary owns the object.
func (o *Object) exclusive() bool {
	return o.controller != nil || o.annotation(rules.AnnotationOwner) != "" && o.Fields().Names(rules.AnnotationOwner)
}

// Owners returns the primaries that the object names as its owners.
func (o *Object) Owners() (all []rules.Owner) {
	if owner, ok := o.Owner(); ok {
		return []rules.Owner{owner}
	}
	for _, s := range o.ClaimedShares() {
		all = append(all, s.Owner)
	}
	return all
}

// ownerUIDs returns the UIDs of the primaries that the object names.
func (o *Object) ownerUIDs() (all []string) {
	if uid := o.OwnerUID(); uid != "" {
		return []string{string(uid)}
	}
	for _, s := range o.ClaimedShares() {
		all = append(all, string(s.Owner.UID))
	}
	return all
}

// namesOthersThan reports whether the object names an owner that another state of it does not.
func (o *Object) namesOthersThan(now *Object) bool {
	if uid := o.OwnerUID(); uid != "" {
		return uid != now.OwnerUID()
	}
	return slices.ContainsFunc(o.ClaimedShares(), func(s rules.Share) bool {
		other, still := rules.ShareOf(now.content, s.Owner.UID)
		return !still || other.Owner != s.Owner
	})
}

// ShareFields returns the managedFields entry of our writes of owners.
func (o *Object) ShareFields() managedfields.Entry {
	if o.rare == nil {
		return managedfields.Entry{}
	}
	return o.rare.shares
}
