package sim

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// delete deletes an object, or marks it for deletion if it has finalizers.
func (r *request) delete(options metav1.DeleteOptions) error {
	old := r.live()
	if old == nil {
		return r.notFound()
	}
	if err := r.preconditions(options.Preconditions, old); err != nil {
		return err
	}
	c := r.cluster
	if isNamespace(old) && slices.Contains(immortal, r.name) {
		return apierrors.NewForbidden(r.groupResource(), r.name, fmt.Errorf("this namespace may not be deleted"))
	}
	next := old.DeepCopy()
	finalizers := r.finalizers(old, options)
	if r.dryRun {
		return nil
	}
	if len(finalizers) == 0 && !isNamespace(old) {
		c.erase(old)
		return nil
	}
	next.SetFinalizers(finalizers)
	if old.GetDeletionTimestamp() == nil {
		now := c.now()
		next.SetDeletionTimestamp(&now)
		if generation := next.GetGeneration(); generation > 0 {
			next.SetGeneration(generation + 1)
		}
		if isNamespace(old) {
			_ = unstructured.SetNestedField(next.Object, "Terminating", "status", "phase") // status is a map
		} else {
			next.SetDeletionGracePeriodSeconds(new(int64))
		}
	}
	if !sameObject(next, old) {
		c.store(next)
	}
	return nil
}

// immortal are the namespaces that cannot be deleted.
var immortal = []string{"default", "kube-system", "kube-public"}

func (r *request) preconditions(want *metav1.Preconditions, have *unstructured.Unstructured) error {
	if want == nil {
		return nil
	}
	why := ""
	if want.UID != nil && *want.UID != have.GetUID() {
		why = fmt.Sprintf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have "+
			"been deleted and then recreated",
			*want.UID, have.GetUID())
	} else if want.ResourceVersion != nil && *want.ResourceVersion != have.GetResourceVersion() {
		why = fmt.Sprintf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified",
			*want.ResourceVersion, have.GetResourceVersion())
	}
	if why == "" {
		return nil
	}
	gr := r.groupResource()
	gr.Resource = r.kind.GVK.Kind // as the API server writes it
	return apierrors.NewConflict(gr, r.name, fmt.Errorf("%s", why))
}

// finalizers returns the finalizers of an object after a delete with these options,
// including those of the garbage collector.
func (r *request) finalizers(u *unstructured.Unstructured, options metav1.DeleteOptions) []string {
	var out []string
	policy := metav1.DeletePropagationBackground
	if orphaners[r.kind.GVK] {
		policy = metav1.DeletePropagationOrphan
	}
	for _, f := range u.GetFinalizers() {
		switch f {
		case metav1.FinalizerOrphanDependents:
			policy = metav1.DeletePropagationOrphan
		case metav1.FinalizerDeleteDependents:
			policy = metav1.DeletePropagationForeground
		default:
			out = append(out, f)
		}
	}
	if options.PropagationPolicy != nil {
		policy = *options.PropagationPolicy
	}
	if r.kind.GVK.GroupKind() == definitionKind && !slices.Contains(out, cleanUpResources) {
		out = append(out, cleanUpResources)
	}
	switch policy {
	case metav1.DeletePropagationOrphan:
		out = append(out, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		out = append(out, metav1.FinalizerDeleteDependents)
	}
	return out
}
