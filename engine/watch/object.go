package watch

import (
	"iter"
	"maps"
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
// because most objects of a kind have the same ones. It keeps apart what no two objects have
// in common, such as the name and the controller: without that, the content of many
// children is equal, and shared. Few rules read those fields of children.
type Object struct {
	marks
	content    map[string]any
	controller *controller // nil: none
	fields     managedfields.Entry
	rare       *rare // nil: it has nothing of that
}

// rare is what few objects have.
type rare struct {
	patches  map[string]managedfields.Entry // for a primary: fields that our patches own, by manager
	shares   managedfields.Entry            // for a child: fields that our other writes own
	orphaned bool                           // for a child: fields belong to a manager that no longer exists
	moves    []string                       // for a primary: our managers that last wrote in another version of its kind
	version  string                         // for a child: the apiVersion of our last apply, if it is another one
}

// A controller is the controlling owner reference of an object. It is not kept for an extended object, because it
// names no primary.
type controller struct {
	rules.Owner
	apiVersion string
}

var _ runtime.Object = (*Object)(nil) // for client-go

// NewObject returns the Object of an API server's response, for a role. It takes
// over u, and removes managedFields and kubectl's last-applied annotation from it.
func NewObject(u *unstructured.Unstructured, role Role) *Object {
	o := &Object{marks: marksOf(u), content: u.Object}
	o.keepManagers(managedfields.ManagersOf(u.Object), role, u.GetAPIVersion())
	o.keepController(u)
	metadata := o.metadata()
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return o
}

func (o *Object) keepController(u *unstructured.Unstructured) {
	if owner, exists := rules.ControllerOf(u.Object); exists && !o.marksExtended() {
		metadata, _ := u.Object["metadata"].(map[string]any)
		o.controller = &controller{owner, rules.ControllerVersion(metadata["ownerReferences"])}
	}
}

// keepManagers keeps the entries of our managers of an object of an apiVersion.
func (o *Object) keepManagers(all managedfields.Managers, role Role, apiVersion string) {
	switch role {
	case Primary:
		o.fields = all.Status()
		o.keepMoves(all, apiVersion)
	case Child:
		o.fields = all.Child()
		o.keepRare(all, apiVersion)
	case Lookup:
	}
}

func (o *Object) keepMoves(all managedfields.Managers, apiVersion string) {
	patches, moves := all.Patches(), all.PatchesNotIn(apiVersion)
	if version := all.StatusVersion(); version != "" && version != apiVersion {
		moves = append(moves, managedfields.Manager)
	}
	if len(patches)+len(moves) > 0 {
		o.rare = &rare{patches: patches, moves: moves}
	}
}

func (o *Object) keepRare(all managedfields.Managers, apiVersion string) {
	shares, orphaned, version := all.Shares(), all.HasOrphanedFields(), all.ChildVersion()
	if version == apiVersion {
		version = ""
	}
	if orphaned || shares != (managedfields.Entry{}) || version != "" {
		o.rare = &rare{shares: shares, orphaned: orphaned, version: version}
	}
}

// NewUntrimmed returns the Object of a child that keeps the entries of all
// managers.
func NewUntrimmed(u *unstructured.Unstructured) *Object {
	all := managedfields.ManagersOf(u.Object)
	o := &Object{marks: marksOf(u), content: u.Object, fields: all.Child()}
	o.keepRare(all, u.GetAPIVersion())
	if o.rare != nil {
		o.rare.orphaned = false
	}
	o.keepController(u)
	return o
}

// Content returns the fields of the object that the rules read. They are shared with the
// cache and must not be changed; DeepCopy returns a copy.
func (o *Object) Content() map[string]any { return o.content }

// GetNamespace returns the namespace, or "".
func (m *marks) GetNamespace() string { return m.namespace }

// GetName returns the name.
func (m *marks) GetName() string { return m.name }

// GetUID returns the UID.
func (m *marks) GetUID() types.UID { return m.uid }

// GetResourceVersion returns the resourceVersion.
func (m *marks) GetResourceVersion() string { return m.version }

// GetCreationTimestamp returns when the object was created.
func (m *marks) GetCreationTimestamp() (at metav1.Time) {
	_ = at.UnmarshalQueryParameter(m.created) // Otherwise it is zero, as for an unstructured object.
	return at
}

// GetAPIVersion returns the apiVersion.
func (o *Object) GetAPIVersion() string {
	version, _ := o.content["apiVersion"].(string)
	return version
}

// GetKind returns the kind.
func (o *Object) GetKind() string { kind, _ := o.content["kind"].(string); return kind }

// GroupVersionKind returns the group, version and kind.
func (o *Object) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.GetAPIVersion(), o.GetKind())
}

// GetGeneration returns the generation.
func (o *Object) GetGeneration() int64 { return o.unstructured().GetGeneration() }

// GetDeletionTimestamp returns when the deletion began, or nil.
func (o *Object) GetDeletionTimestamp() *metav1.Time { return o.unstructured().GetDeletionTimestamp() }

// GetLabels returns a copy of the labels.
func (o *Object) GetLabels() map[string]string { return o.unstructured().GetLabels() }

// GetAnnotations returns a copy of the annotations.
func (o *Object) GetAnnotations() map[string]string { return o.unstructured().GetAnnotations() }

// GetFinalizers returns a copy of the finalizers.
func (o *Object) GetFinalizers() []string { return o.unstructured().GetFinalizers() }

// unstructured returns the content as another type. It is read-only.
func (o *Object) unstructured() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o.content}
}

// Fields returns the managedFields entry of our last apply: of the whole object for a
// child, of the status for a primary. It is zero for a child with orphaned fields, which
// then counts as drifted, so that they are released.
func (o *Object) Fields() managedfields.Entry {
	if o.HasOrphanedFields() {
		return managedfields.Entry{}
	}
	return o.fields
}

// HasOrphanedFields reports whether fields of a child belong to a manager that no longer
// exists, see managedfields.ReleaseOrphanedFields. In an extended object, they may be fields of others.
func (o *Object) HasOrphanedFields() bool {
	return o.rare != nil && o.rare.orphaned && o.annotation(rules.AnnotationShared) != rules.SharedExtended
}

// Moves reports whether our last apply of a primary's status, for the manager managedfields.Manager, or
// of a patch, was in another version of its kind. The next one moves the entry to the version of the rules.
func (o *Object) Moves(manager string) bool {
	return o.rare != nil && slices.Contains(o.rare.moves, manager)
}

// AppliedVersion returns the apiVersion of our last apply of a child.
func (o *Object) AppliedVersion() string {
	if o.rare != nil && o.rare.version != "" {
		return o.rare.version
	}
	return o.GetAPIVersion()
}

// ControllerVersion returns the apiVersion in the owner reference to the controller, or "".
func (o *Object) ControllerVersion() string {
	if o.controller == nil {
		return ""
	}
	return o.controller.apiVersion
}

// OwnFields is Fields also for a child with orphaned fields.
func (o *Object) OwnFields() managedfields.Entry { return o.fields }

// Patched reports whether the primary has fields of any patch of ours.
func (o *Object) Patched() bool { return o.rare != nil && len(o.rare.patches) > 0 }

// PatchFields returns the managedFields entry of the manager of a patch of the primary.
func (o *Object) PatchFields(manager string) managedfields.Entry {
	if o.rare == nil {
		return managedfields.Entry{}
	}
	return o.rare.patches[manager]
}

// PatchManagers returns the managers of our patches of the primary.
func (o *Object) PatchManagers() iter.Seq[string] {
	if o.rare == nil {
		return maps.Keys(map[string]managedfields.Entry(nil))
	}
	return maps.Keys(o.rare.patches)
}

// NoHash is the result of Applied for an object without a hash.
const NoHash = "none"

// Applied returns the hash of the last applied rendering, never "".
func (o *Object) Applied() string {
	if o.applied != "" {
		return o.applied
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

// ReconciledAt returns the request of its primary for which the object was last applied, or "".
func (o *Object) ReconciledAt() string { return o.annotation(rules.AnnotationReconciledAt) }

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
	return o.controller.Owner, true
}

// Owner returns the primary that the object names as its owner.
func (o *Object) Owner() (rules.Owner, bool) {
	if o.controller != nil {
		return o.controller.Owner, true
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
// controller, or our own write named it as the owner or as one of several. An annotation
// that another writer set, in a copy, a restored backup or on purpose, does not count.
func (o *Object) BelongsTo(primary rules.Owner) bool {
	if o.ownedBy(primary) {
		return true
	}
	_, shares := o.Share(primary)
	return shares
}

// ownedBy reports whether the primary is the only owner of the object.
func (o *Object) ownedBy(primary rules.Owner) bool {
	owner, ok := o.Owner()
	if !ok || owner.UID != primary.UID || owner.Kind != primary.Kind || owner.Name != primary.Name {
		return false
	}
	if primary.Namespace != "" && owner.Namespace != primary.Namespace {
		return false
	}
	return o.controller != nil || o.Fields().Names(rules.AnnotationOwner)
}

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
