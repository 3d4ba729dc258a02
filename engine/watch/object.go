package watch

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// An Object is one state of an object. All readers of a cache share it, and none can
// change it. In a cache it has only the fields that the rules read.
//
// It keeps only the managedFields entries of reconcel's managers. They are interned,
// because most objects of a kind have the same ones. It keeps its controller apart from the
// other fields, because few rules read owner references.
type Object struct {
	reader
	content    map[string]any
	controller *rules.Owner // nil: none
	fields     managedfields.Entry
	patches    map[string]managedfields.Entry // for a primary: fields that our patches own, by manager
	orphaned   bool                           // for a child: fields belong to a manager that no longer exists
}

// A reader has the methods of an unstructured object that do not change it.
type reader interface {
	GroupVersionKind() schema.GroupVersionKind
	GetAPIVersion() string
	GetKind() string
	GetNamespace() string
	GetName() string
	GetUID() types.UID
	GetResourceVersion() string
	GetGeneration() int64
	GetCreationTimestamp() metav1.Time
	GetDeletionTimestamp() *metav1.Time
	GetLabels() map[string]string
	GetAnnotations() map[string]string
	GetFinalizers() []string
	DeepCopy() *unstructured.Unstructured
}

var _ runtime.Object = (*Object)(nil) // for client-go

// NewObject returns the Object of an API server's response, for a role. It takes
// over u, and removes managedFields and kubectl's last-applied annotation from it.
func NewObject(u *unstructured.Unstructured, role Role) *Object {
	o := &Object{reader: u, content: u.Object}
	o.keepController(rules.ControllerOf(u.Object))
	o.keepManagers(managedfields.ManagersOf(u.Object), role)
	metadata := o.metadata()
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return o
}

func (o *Object) keepController(controller rules.Owner, exists bool) {
	if exists {
		o.controller = &controller
	}
}

// keepManagers keeps the entries of our managers.
func (o *Object) keepManagers(all managedfields.Managers, role Role) {
	switch role {
	case Primary:
		o.fields, o.patches = all.Status(), all.Patches()
	case Child:
		o.fields, o.orphaned = all.Child(), all.HasOrphanedFields()
	case Lookup:
	}
}

// NewUntrimmed returns the Object of a child that keeps the entries of all
// managers.
func NewUntrimmed(u *unstructured.Unstructured) *Object {
	o := &Object{reader: u, content: u.Object, fields: managedfields.ChildEntry(u.Object)}
	o.keepController(rules.ControllerOf(u.Object))
	return o
}

// Content returns the fields of the object. They are shared with the cache and must
// not be changed; DeepCopy returns a copy.
func (o *Object) Content() map[string]any { return o.content }

// WithoutBody returns the object with only its metadata.
func (o *Object) WithoutBody() *Object {
	bare := map[string]any{"apiVersion": o.content["apiVersion"], "kind": o.content["kind"], "metadata": o.content["metadata"]}
	withoutBody := *o
	withoutBody.reader, withoutBody.content = &unstructured.Unstructured{Object: bare}, bare
	return &withoutBody
}

// GetObjectKind implements runtime.Object. Its setter has no effect.
func (o *Object) GetObjectKind() schema.ObjectKind { return (*readOnlyKind)(o) }

// DeepCopyObject implements runtime.Object. It returns the object itself, which is
// immutable.
func (o *Object) DeepCopyObject() runtime.Object { return o }

type readOnlyKind Object

// GroupVersionKind implements schema.ObjectKind.
func (k *readOnlyKind) GroupVersionKind() schema.GroupVersionKind { return k.reader.GroupVersionKind() }

// SetGroupVersionKind implements schema.ObjectKind.
func (k *readOnlyKind) SetGroupVersionKind(schema.GroupVersionKind) {}

// Fields returns the managedFields entry of our last apply: of the whole object for a
// child, of the status for a primary. It is zero for a child with orphaned fields, which
// then counts as drifted, so that they are released.
func (o *Object) Fields() managedfields.Entry {
	if o.orphaned {
		return managedfields.Entry{}
	}
	return o.fields
}

// HasOrphanedFields reports whether fields of a child belong to a manager that no longer
// exists, see managedfields.ReleaseOrphanedFields.
func (o *Object) HasOrphanedFields() bool { return o.orphaned }

// OwnFields is Fields also for a child with orphaned fields.
func (o *Object) OwnFields() managedfields.Entry { return o.fields }

// Patched reports whether the primary has fields of any patch of ours.
func (o *Object) Patched() bool { return len(o.patches) > 0 }

// PatchFields returns the managedFields entry of the manager of a patch of the primary.
func (o *Object) PatchFields(manager string) managedfields.Entry { return o.patches[manager] }

// NoHash is the result of Applied for an object without a hash.
const NoHash = "none"

// Applied returns the hash of the last applied rendering, never "".
func (o *Object) Applied() string {
	if hash := o.annotation(rules.AnnotationApplied); hash != "" {
		return hash
	}
	return NoHash
}

// Rule returns the name of the rule that rendered the object, or "".
func (o *Object) Rule() string { return rules.LabelsOf(o.content).Get(rules.LabelRule) }

// Child returns the id of the child that rendered the object, or "".
func (o *Object) Child() string { return rules.LabelsOf(o.content).Get(rules.LabelChild) }

// Orphan reports whether the object stays when its primary is deleted.
func (o *Object) Orphan() bool { return o.annotation(rules.AnnotationOrphan) == "true" }

// IndexMark returns the index of the object in a sequence as it is written on the object, or "".
func (o *Object) IndexMark() string { return o.annotation(rules.AnnotationIndex) }

// Installation returns the installation that applied the object last, as
// namespace/name, or "". An annotation that another writer set, such as in a copy or a
// restored backup, does not count.
func (o *Object) Installation() string {
	if mark := o.annotation(rules.AnnotationInstallation); mark != "" && o.Fields().Names(rules.AnnotationInstallation) {
		return mark
	}
	return ""
}

// Paused reports whether the object, as a primary, is paused.
func (o *Object) Paused() bool { return rules.Paused(o.content) }

// HasFinalizer reports whether the object, as a primary, has the finalizer of a rule.
func (o *Object) HasFinalizer(rule *rules.Rule) bool {
	finalizers, _ := o.metadata()["finalizers"].([]any)
	return len(finalizers) > 0 && slices.Contains(finalizers, any(rules.Finalizer(rule.Name)))
}

// Identity returns the identity of the object with the given kind.
func (o *Object) Identity(gvk schema.GroupVersionKind) rules.Identity {
	return rules.Identity{GVK: gvk, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Terminating reports whether the object is being deleted.
func (o *Object) Terminating() bool {
	deleted, _ := o.metadata()["deletionTimestamp"].(string)
	return deleted != ""
}

// Controller returns the controller in the object's owner references.
func (o *Object) Controller() (rules.Owner, bool) {
	if o.controller == nil {
		return rules.Owner{}, false
	}
	return *o.controller, true
}

// Owner returns the primary that the object names as its owner.
func (o *Object) Owner() (rules.Owner, bool) {
	if o.controller != nil {
		return *o.controller, true
	}
	return rules.AnnotatedOwner(o.content)
}

// LostReference reports whether the object no longer has the owner reference with which
// it was created, see rules.HadReference.
func (o *Object) LostReference() bool {
	return o.controller == nil && rules.HadReference(o.content)
}

// OwnerUID returns the UID of the owner, or "".
func (o *Object) OwnerUID() types.UID {
	owner, _ := o.Owner()
	return owner.UID
}

// BelongsTo reports whether the object belongs to a primary: the primary is its
// controller, or our own write named it as the owner. An annotation that another
// writer set, in a copy, a restored backup or on purpose, does not count.
func (o *Object) BelongsTo(primary rules.Owner) bool {
	owner, ok := o.Owner()
	if !ok || owner.UID != primary.UID || owner.Kind != primary.Kind || owner.Name != primary.Name {
		return false
	}
	if primary.Namespace != "" && owner.Namespace != primary.Namespace {
		return false
	}
	_, controlled := o.Controller()
	return controlled || o.Fields().Names(rules.AnnotationOwner)
}

// Holder describes the owner of the object for a message. Only an untrimmed object has
// all managers.
func (o *Object) Holder() string {
	managed, _ := o.metadata()["managedFields"].([]any)
	return rules.HolderOf(o.content, managed)
}

// HasOwnLabel reports whether our own write set the rule's label on the object.
func (o *Object) HasOwnLabel() bool { return o.Fields().Names(rules.LabelRule) }

// OlderThan reports whether the object is known to precede a resourceVersion.
func (o *Object) OlderThan(version string) bool { return olderVersion(o.GetResourceVersion(), version) }

func olderVersion(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}

func (o *Object) metadata() map[string]any {
	metadata, _ := o.content["metadata"].(map[string]any)
	return metadata
}

func (o *Object) annotation(name string) string {
	annotations, _ := o.metadata()["annotations"].(map[string]any)
	value, _ := annotations[name].(string)
	return value
}
