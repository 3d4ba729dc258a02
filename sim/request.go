package sim

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"reconcel/rules/schema"
)

// A request is one write of one object. The cluster is locked while it is served.
type request struct {
	cluster         *Cluster
	kind            *schema.Kind
	namespace, name string
	subresource     string
	by              string                     // the client
	manager         string                     // the field manager
	force           bool                       // take ownership of fields from other managers
	dryRun          bool                       // return the result, and store nothing
	strict          bool                       // reject unknown fields of a patch
	given           *unstructured.Unstructured // a new object that keeps its uid, generation and times; nil: none
	applied         *unstructured.Unstructured // the body of an apply; nil: another write
}

func (r *request) groupResource() runtimeschema.GroupResource {
	return resourceOf(r.kind).GroupResource()
}

// live returns the object as a request reads it, or nil. Do not change it.
func (r *request) live() *unstructured.Unstructured {
	u := r.cluster.load(r.kind.GVK.GroupKind(), r.namespace, r.name)
	if u == nil {
		return nil
	}
	return r.cluster.Read(u, r.kind.GVK)
}

func (r *request) notFound() error { return apierrors.NewNotFound(r.groupResource(), r.name) }

func (r *request) fields() (*fieldManager, error) {
	return r.cluster.Kinds().manager(r.kind, r.subresource)
}

// create serves a POST.
func (r *request) create(body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u, err := r.decode(body)
	if err != nil {
		return nil, err
	}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(r.cluster.generated(r.kind, r.namespace, u.GetGenerateName()))
	}
	r.name = u.GetName()
	if r.name == "" {
		return nil, apierrors.NewInvalid(r.kind.GVK.GroupKind(), "", r.cluster.validate(r.kind, "", u, nil))
	}
	u.SetUID("")
	u.SetManagedFields(nil)
	fm, err := r.fields()
	if err != nil {
		return nil, err
	}
	u = trackUpdate(fm, newObject(r.kind.GVK), u, r.manager)
	if u.GetResourceVersion() != "" && u.GetResourceVersion() != "0" {
		return nil, fmt.Errorf("resourceVersion should not be set on objects to be created")
	}
	return r.insert(u)
}

// decode decodes the body of a POST or PUT.
func (r *request) decode(body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if gvk := body.GroupVersionKind(); gvk != r.kind.GVK {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"%s in version %q cannot be handled as a %s: the kind of the object does not match the request",
			gvk.Kind, gvk.Version, r.kind.GVK.Kind))
	}
	u, err := r.cluster.Kinds().decoded(r.kind, body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %s",
			r.kind.GVK.Kind, r.kind.GVK.Version, r.kind.GVK.Kind, err))
	}
	return u, r.placed(u)
}

// placed rejects an object whose name or namespace is not that of the request.
func (r *request) placed(u *unstructured.Unstructured) error {
	switch namespace := u.GetNamespace(); {
	case !r.kind.Namespaced || namespace == "" || namespace == r.namespace:
		u.SetNamespace(r.namespace)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object " +
			"does not match the namespace sent on the request")
	}
	if r.name != "" && u.GetName() != "" && u.GetName() != r.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			u.GetName(), r.name))
	}
	return nil
}

// insert stores a new object with its managedFields.
func (r *request) insert(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c := r.cluster
	if err := r.admit(); err != nil {
		return nil, err
	}
	stampTime(u, nil, c.now())
	u, err := r.converted(u)
	if err != nil {
		return nil, err
	}
	u.SetResourceVersion("")
	c.Kinds().prepareCreate(r.kind, u)
	c.initialise(r.kind, u)
	u.SetCreationTimestamp(c.now())
	unstructured.RemoveNestedField(u.Object, "metadata", "deletionTimestamp")
	unstructured.RemoveNestedField(u.Object, "metadata", "deletionGracePeriodSeconds")
	r.keepGiven(u)
	if u, err = canonical(r.kind, u); err != nil {
		return nil, err
	}
	if errs := c.validate(r.kind, "", u, nil); len(errs) > 0 {
		return nil, apierrors.NewInvalid(r.kind.GVK.GroupKind(), r.name, errs)
	}
	if c.load(r.kind.GVK.GroupKind(), r.namespace, r.name) != nil {
		return nil, apierrors.NewAlreadyExists(r.groupResource(), r.name)
	}
	if u.GetUID() == "" {
		u.SetUID(c.newUID(u))
	}
	if !r.dryRun {
		c.store(u)
	}
	return u.DeepCopy(), nil
}

// converted returns an object in canonical form. The values of an apply are read here, by the field manager; those of
// other bodies were when they were decoded.
func (r *request) converted(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out, err := canonical(r.kind, u)
	if err != nil && r.applied != nil && typeOf(r.kind) != nil {
		err = fmt.Errorf("failed to convert new object (%s/%s; %s) to proper version: unable to convert unstructured object "+
			"to %s: %w", r.applied.GetNamespace(), r.applied.GetName(), r.kind.GVK, r.kind.GVK, err)
	}
	return out, err
}

// keepGiven keeps what an object of another cluster says about itself: an observedGeneration and an age mean what they
// meant there. Without finalizers, an object that is being deleted would not exist.
func (r *request) keepGiven(u *unstructured.Unstructured) {
	if r.given == nil {
		return
	}
	u.SetUID(r.given.GetUID())
	if generation := r.given.GetGeneration(); generation > 0 && hasGeneration(r.kind) {
		u.SetGeneration(generation)
	}
	now := u.GetCreationTimestamp()
	if at := r.given.GetCreationTimestamp(); !at.IsZero() && at.Before(&now) {
		u.SetCreationTimestamp(at)
	}
	if at := r.given.GetDeletionTimestamp(); at != nil && len(u.GetFinalizers()) > 0 && !isNamespace(u) {
		u.SetDeletionTimestamp(at)
		u.SetDeletionGracePeriodSeconds(new(int64))
	}
}

// admit rejects a new object in a namespace that does not exist or is being deleted.
func (r *request) admit() error {
	if !r.kind.Namespaced {
		return nil
	}
	if r.namespace == "" {
		return apierrors.NewBadRequest("an empty namespace may not be set during creation")
	}
	namespace := r.cluster.load(namespaceKind, "", r.namespace)
	if namespace == nil {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), r.namespace)
	}
	if namespace.GetDeletionTimestamp() == nil {
		return nil
	}
	err := apierrors.NewForbidden(r.groupResource(), r.name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", r.namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", r.namespace),
		Field: "metadata.namespace",
	})
	return err
}

// A change returns the next state of an object or of its Scale, with its managedFields.
type change func(fm *fieldManager, now *unstructured.Unstructured) (*unstructured.Unstructured, error)

// change serves a write of an existing object or of its Scale.
func (r *request) change(next change) (*unstructured.Unstructured, error) {
	old := r.live()
	if old == nil {
		return nil, r.notFound()
	}
	fm, err := r.fields()
	if err != nil {
		return nil, err
	}
	if r.subresource == "scale" {
		return r.changeScale(fm, old, next)
	}
	u, err := next(fm, old)
	if err != nil {
		return nil, err
	}
	return r.replace(u, old)
}

// update serves a PUT.
func (r *request) update(body *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return r.change(func(fm *fieldManager, now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if r.subresource != "scale" {
			var err error
			if body, err = r.decode(body); err != nil {
				return nil, err
			}
		}
		return trackUpdate(fm, now, body, r.manager), r.sameUID(body, now)
	})
}

// sameUID rejects an object with another uid.
func (r *request) sameUID(u, now *unstructured.Unstructured) error {
	if uid := u.GetUID(); uid != "" && uid != now.GetUID() {
		return apierrors.NewConflict(r.groupResource(), r.name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, now.GetUID()))
	}
	return nil
}

// sameVersion rejects a write of an outdated object, or of a custom resource without a
// resourceVersion.
func (r *request) sameVersion(u, now *unstructured.Unstructured) error {
	version := u.GetResourceVersion()
	switch given := version != "" && version != "0"; {
	case given && version != now.GetResourceVersion():
		return apierrors.NewConflict(r.groupResource(), r.name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	case !given && r.kind.Custom:
		kind := runtimeschema.GroupKind{Group: r.kind.GVK.Group, Kind: r.kind.Resource}
		return apierrors.NewInvalid(kind, r.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	}
	return nil
}

// replace stores the new state of an object with its managedFields.
func (r *request) replace(u, old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c := r.cluster
	if err := r.sameVersion(u, old); err != nil {
		return nil, err
	}
	u.SetResourceVersion(old.GetResourceVersion())
	u.SetGeneration(old.GetGeneration())
	u, err := r.converted(u)
	if err != nil {
		return nil, err
	}
	switch r.subresource {
	case "status":
		prepareStatus(r.kind, u, old)
	case finalize:
	default:
		c.prepareUpdate(r.kind, u, old)
	}
	r.inherit(u, old)
	stampTime(u, old, c.now())
	if errs := c.validate(r.kind, r.subresource, u, old); len(errs) > 0 {
		return nil, apierrors.NewInvalid(r.kind.GVK.GroupKind(), r.name, errs)
	}
	switch {
	case r.dryRun, sameObject(u, old) && !r.isOutdated(old):
	case canBeErased(u):
		c.erase(u)
	default:
		c.store(u)
	}
	return u.DeepCopy(), nil
}

// isOutdated reports whether the stored object differs from what is read, because its schema has changed.
func (r *request) isOutdated(read *unstructured.Unstructured) bool {
	stored := r.cluster.load(r.kind.GVK.GroupKind(), r.namespace, r.name)
	return stored.GroupVersionKind() == r.kind.GVK && !sameObject(stored, read)
}

// inherit copies the fields that no write changes.
func (r *request) inherit(u, old *unstructured.Unstructured) {
	if u.GetUID() == "" {
		u.SetUID(old.GetUID())
	}
	u.SetCreationTimestamp(old.GetCreationTimestamp())
	if at := old.GetDeletionTimestamp(); at != nil {
		u.SetDeletionTimestamp(at)
		u.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
}

// canBeErased reports whether an object is being deleted and has no finalizers left.
func canBeErased(u *unstructured.Unstructured) bool {
	return u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 && !(isNamespace(u) && holdsContent(u))
}

func isNamespace(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().GroupKind() == namespaceKind
}

// holdsContent reports whether a namespace waits for the deletion of its content.
func holdsContent(namespace *unstructured.Unstructured) bool {
	held, _, _ := unstructured.NestedSlice(namespace.Object, "spec", "finalizers")
	return len(held) > 0
}
