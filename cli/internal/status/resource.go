package status

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/cluster"
	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// Reasons of status alone, besides those of conditions.
const (
	reasonPaused       = "Paused"
	reasonDeleting     = "Deleting"
	reasonNotObserved  = "NotObserved"
	reasonNoConditions = "NoConditions"
)

// A Resource is the state of one resource. Its JSON is documented.
type Resource struct {
	APIVersion         string       `json:"apiVersion"`
	Kind               string       `json:"kind"`
	Namespace          string       `json:"namespace,omitempty"`
	Name               string       `json:"name"`
	UID                types.UID    `json:"uid"`
	State              State        `json:"state"`
	Reason             string       `json:"reason"`
	Message            string       `json:"message"`
	Since              *metav1.Time `json:"since,omitempty"` // nil: not known
	Generation         int64        `json:"generation,omitempty"`
	ObservedGeneration int64        `json:"observedGeneration,omitempty"`
	Deleting           bool         `json:"deleting,omitempty"`
}

// ref returns KIND/NAME, as kubectl takes it.
func (r *Resource) ref() string { return strings.ToLower(r.Kind) + "/" + r.Name }

// resource reads the state of a resource.
func (k *kind) resource(u *unstructured.Unstructured) Resource {
	r := Resource{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(),
		Generation: u.GetGeneration(), Deleting: u.GetDeletionTimestamp() != nil,
	}
	if k.hasConditions {
		r.readConditions(u)
	} else if state, report, ok := engine.ReportedAnnotation(u); ok {
		r.become(State(state), report.Reason, report.Message, nil)
	} else {
		r.readEvent(k.events[r.UID])
	}
	if rules.Paused(u.Object) && r.State != paused {
		r.become(paused, reasonPaused, "paused by the annotation "+rules.AnnotationPaused, nil)
		return r
	}
	if held := ownFinalizers(u); r.Deleting && len(held) > 0 {
		r.explainDeletion(u, held)
	}
	return r
}

// One reads the state of one resource of a kind that the API server serves.
func One(ctx context.Context, live *cluster.Cluster, served *discover.Kind, u *unstructured.Unstructured) (Resource, error) {
	k := &kind{gk: served.GVK.GroupKind(), version: served.GVK.Version}
	if err := k.find(ctx, live.Kinds); err != nil {
		return Resource{}, err
	}
	if !k.hasConditions {
		_ = k.readEvents(ctx, live, u.GetNamespace()) // Without permission to list Events, none are shown.
	}
	return k.resource(u), nil
}

func (r *Resource) become(state State, reason, message string, since *metav1.Time) {
	r.State, r.Reason, r.Message, r.Since = state, reason, message, since
}

// readConditions sets the state from the conditions that reconcel has written.
func (r *Resource) readConditions(u *unstructured.Unstructured) {
	conditions := conditionsOf(u)
	state, by := engine.ReportedState(conditions)
	if by == nil {
		created := u.GetCreationTimestamp()
		r.become(unknown, reasonNotObserved, "reconcel has not written conditions yet", &created)
		return
	}
	if state == "" {
		state = string(unknown)
	}
	r.become(State(state), by.Reason, by.Message, nil)
	if since := by.LastTransitionTime; !since.IsZero() {
		r.Since = &since
	}
	observed := meta.FindStatusCondition(conditions, "Ready").ObservedGeneration
	if r.ObservedGeneration = observed; observed > 0 && observed < r.Generation {
		r.become(unknown, reasonNotObserved,
			fmt.Sprintf("generation %d is not observed yet; generation %d was %s: %s", r.Generation, observed, r.State, r.Message), changedAt(u))
	}
}

// explainDeletion sets why a resource that is being deleted still exists. An error
// that keeps reconcel from removing its finalizer takes precedence.
func (r *Resource) explainDeletion(u *unstructured.Unstructured, held []string) {
	switch r.State {
	case stalled, retrying:
	case waiting:
		r.Since = u.GetDeletionTimestamp()
	default:
		r.become(waiting, reasonDeleting, "held by the finalizer "+strings.Join(held, ", "), u.GetDeletionTimestamp())
	}
}

func ownFinalizers(u *unstructured.Unstructured) (held []string) {
	for _, f := range u.GetFinalizers() {
		if strings.HasPrefix(f, rules.Finalizer("")) {
			held = append(held, f)
		}
	}
	return held
}

// conditionsOf returns the well-formed conditions of a resource.
func conditionsOf(u *unstructured.Unstructured) (all []metav1.Condition) {
	status, _ := u.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		var c metav1.Condition
		entry, _ := item.(map[string]any)
		if runtime.DefaultUnstructuredConverter.FromUnstructured(entry, &c) == nil {
			all = append(all, c)
		}
	}
	return all
}

// changedAt returns the time of the last change outside the status, or nil.
func changedAt(u *unstructured.Unstructured) (last *metav1.Time) {
	for _, entry := range u.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && (last == nil || last.Before(entry.Time)) {
			last = entry.Time
		}
	}
	return last
}
