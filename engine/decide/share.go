package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// DifferingShares returns those of the parts of other owners that render the object differently.
func DifferingShares(d *rules.Desired, others []rules.Share) []rules.Share {
	own := d.HashString()
	return slices.DeleteFunc(others, func(s rules.Share) bool { return s.Hash == own })
}

// ShareBody returns the body of a merge patch that sets the annotation of an owner, or
// removes it if the value is nil.
func ShareBody(uid types.UID, version string, owner types.UID, value any) ([]byte, error) {
	metadata := map[string]any{"uid": uid, "annotations": map[string]any{rules.ShareKey(owner): value}}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}

// WithdrawalBodies returns the bodies of the writes that remove what reconcel has written to an object of others, for
// the state that was read: of an apply that leaves nothing but marks, which is nil if there is nothing else, and of a
// merge patch that removes the marks.
func WithdrawalBodies(gvk schema.GroupVersionKind, o *watch.Object) (fields, marks []byte, err error) {
	var kept unstructured.Unstructured
	if o.Rule() != "" {
		kept.SetLabels(map[string]string{rules.LabelRule: o.Rule(), rules.LabelChild: o.Child()})
	}
	annotations := map[string]string{rules.AnnotationShared: rules.SharedExtended}
	removed := map[string]any{rules.AnnotationShared: nil}
	for _, s := range o.ClaimedShares() {
		key := rules.ShareKey(s.Owner.UID)
		removed[key] = nil
		if o.AppliedShare(s.Owner.UID) {
			annotations[key] = s.Value()
		}
	}
	kept.SetAnnotations(annotations)
	if !o.OwnFields().Set().Exceeds(kept.Object) {
		marks, err = json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID(),
			"resourceVersion": o.GetResourceVersion(), "annotations": removed,
			"labels": map[string]any{rules.LabelRule: nil, rules.LabelChild: nil}}})
		return nil, marks, err
	}
	kept.SetGroupVersionKind(gvk)
	kept.SetNamespace(o.GetNamespace())
	kept.SetName(o.GetName())
	kept.SetUID(o.GetUID())
	kept.SetResourceVersion(o.GetResourceVersion())
	fields, err = json.Marshal(kept.Object)
	return fields, nil, err
}

// IsTooManyShares reports whether the API server rejects one more annotation.
func IsTooManyShares(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeTooLong)
	return apierrors.IsInvalid(err) && found && cause.Field == "metadata.annotations"
}

// SharingPatience is how long the owners of an object have to agree before they are stalled.
// After a change of the rules they change their parts one after another.
const SharingPatience = time.Second

// A Dispute is the time since which the owners of an object do not agree, and what differs.
type Dispute struct {
	Since   time.Time // zero: they agree
	Version string    // of the object that was compared
	Field   string    // the first that differs; "": unknown
}

// Reports reports whether the status of a primary, as conditions or as an annotation, has a reason.
func Reports(primary *watch.Object, reason string) bool {
	var annotation struct {
		Reason string `json:"reason"`
	}
	text := primary.GetAnnotations()[rules.AnnotationStatus]
	if json.Unmarshal([]byte(text), &annotation) == nil && annotation.Reason == reason {
		return true
	}
	status, _ := primary.Content()["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == outcome.ConditionStalled && condition["reason"] == reason
	})
}

// A SharingError means that owners of a shared object render it differently.
type SharingError struct {
	Object  string // Kind/namespace/name
	Others  []rules.Share
	Field   string
	Patient time.Duration // how long they still have to agree
}

// Error names another owner.
func (e *SharingError) Error() string {
	who := e.Others[0].Owner.String()
	if more := len(e.Others) - 1; more > 0 {
		who = fmt.Sprintf("%s and %d more", who, more)
	}
	if e.Patient > 0 {
		return fmt.Sprintf("%s is shared with %s, waits until all render the same", e.Object, who)
	}
	differs := "their renderings differ"
	if e.Field != "" {
		differs = e.Field + " differs"
	}
	return fmt.Sprintf("%s is shared with %s, but %s; it stays as it is until all its owners render the same", e.Object,
		who, differs)
}

// FirstDiffering returns the first field of a shared object that differs from a rendering, or
// "".
func FirstDiffering(u *unstructured.Unstructured, desired map[string]any) string {
	fields := managedfields.ChildEntry(u.Object).Set().Differing(u.Object, desired)
	if len(fields) == 0 {
		return ""
	}
	return slices.Min(fields)
}
