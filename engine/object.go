package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// An object is one entry of a cache. It is shared by all readers and never
// written to.
//
// Of its managedFields only our own entry is kept, as an interned string: most
// objects of a kind have the same one, and comparing two is comparing pointers.
type object struct {
	unstructured.Unstructured
	fields  managedfields.Entry
	patches map[string]managedfields.Entry // of a primary: what our patches own of it, by manager
}

// newObject takes over what the API server sent: it keeps our managedFields
// entry for the role, if there is one, and drops the rest of managedFields and
// kubectl's copy of the object.
func newObject(u *unstructured.Unstructured, role role) *object {
	o := &object{Unstructured: *u}
	switch {
	case role == primaryRole:
		o.fields, o.patches = managedfields.StatusEntry(u.Object), managedfields.PatchEntries(u.Object)
	case role == childRole && !managedfields.HasOrphanedFields(u.Object): // Otherwise releaseOrphanedFields is still due.
		o.fields = managedfields.ChildEntry(u.Object)
	}
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return o
	}
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return o
}

// newOwned is newObject for an object that is only looked at once: what others
// own of it is kept.
func newOwned(u *unstructured.Unstructured) *object {
	return &object{Unstructured: *u, fields: managedfields.ChildEntry(u.Object)}
}

// unmarked is what stands for the hash of a rendering that an object does not
// have.
const unmarked = "none"

// applied returns the hash of the rendering that the object carries, never "".
func (o *object) applied() string {
	if s, _, _ := unstructured.NestedString(o.Object, "metadata", "annotations", rules.AnnotationApplied); s != "" {
		return s
	}
	return unmarked
}

// rule returns the name of the rule that made the object, or "".
func (o *object) rule() string {
	s, _, _ := unstructured.NestedString(o.Object, "metadata", "labels", rules.LabelRule)
	return s
}

// orphan reports whether the object stays when its primary goes.
func (o *object) orphan() bool {
	s, _, _ := unstructured.NestedString(o.Object, "metadata", "annotations", rules.AnnotationOrphan)
	return s == "true"
}

// paused reports whether the object, a primary, is to be left alone.
func (o *object) paused() bool { return rules.Paused(o.Object) }

// hasFinalizer reports whether the object, a primary, carries the finalizer of
// a rule.
func (o *object) hasFinalizer(rule *rules.Rule) bool {
	metadata, _ := o.Object["metadata"].(map[string]any)
	list, _ := metadata["finalizers"].([]any)
	return len(list) > 0 && slices.Contains(list, any(rules.Finalizer(rule.Name)))
}

// child returns the id of the child that the object was made from, or "".
func (o *object) child() string {
	s, _, _ := unstructured.NestedString(o.Object, "metadata", "labels", rules.LabelChild)
	return s
}

// identity names the object, as one of a kind.
func (o *object) identity(gvk schema.GroupVersionKind) rules.Identity {
	return rules.Identity{GVK: gvk, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// terminating reports whether the object is on its way out.
func (o *object) terminating() bool {
	s, _, _ := unstructured.NestedString(o.Object, "metadata", "deletionTimestamp")
	return s != ""
}

// controller returns the object's controlling owner, in the namespace of the
// object.
func (o *object) controller() (Request, bool) {
	owner, ok := rules.ControllerOf(o.Object)
	return Request(owner), ok
}

// owner returns the primary that the object says it belongs to.
func (o *object) owner() (Request, bool) {
	owner, ok := rules.OwnerOf(o.Object)
	return Request(owner), ok
}

// belongsTo reports whether a primary has the object: it is its controller, or
// what our own write has named as its owner. A mark that somebody else has
// written, in a copy, a restored backup or on purpose, makes nothing ours.
func (o *object) belongsTo(req Request) bool {
	owner, ok := o.owner()
	if !ok || owner.UID != req.UID || owner.Kind != req.Kind || owner.Name != req.Name {
		return false
	}
	if req.Namespace != "" && owner.Namespace != req.Namespace {
		return false
	}
	_, controlled := o.controller()
	return controlled || o.fields.Names(rules.AnnotationOwner)
}

// trackedBy returns the UID of the owner, or "".
func (o *object) trackedBy() types.UID {
	owner, _ := o.owner()
	return owner.UID
}

// installation returns the installation that applied the object last,
// namespace/name, or "". A mark that somebody else has written, in a copy or a
// restored backup, counts for nothing.
func (o *object) installation() string {
	s, _, _ := unstructured.NestedString(o.Object, "metadata", "annotations", rules.AnnotationInstallation)
	if s == "" || !o.fields.Names(rules.AnnotationInstallation) {
		return ""
	}
	return s
}

// holder describes who has an object, for a message.
func holder(u *unstructured.Unstructured) string {
	metadata, _ := u.Object["metadata"].(map[string]any)
	managed, _ := metadata["managedFields"].([]any)
	return rules.HolderOf(u.Object, managed)
}

// older reports whether resource version a is known to precede b.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

// name prints an object as Kind/namespace/name.
func name(kind, namespace, name string) string {
	if namespace == "" {
		return kind + "/" + name
	}
	return kind + "/" + namespace + "/" + name
}
