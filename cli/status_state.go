package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// A resourceState is the state of a resource.
type resourceState string

const (
	stateStalled     resourceState = "stalled"
	stateRetrying    resourceState = "retrying"
	stateWaiting     resourceState = "waiting"
	stateProgressing resourceState = "progressing"
	statePaused      resourceState = "paused"
	stateUnknown     resourceState = "unknown"    // reconcel has not written conditions for this generation
	stateUnreported  resourceState = "unreported" // the kind has no conditions, and there is no Warning
	stateReady       resourceState = "ready"
)

// resourceStates are all states, worst first.
var resourceStates = []resourceState{
	stateStalled, stateRetrying, stateWaiting, stateProgressing, statePaused, stateUnknown, stateUnreported, stateReady,
}

// trouble reports whether status lists the state by default.
func (s resourceState) trouble() bool { return s != stateReady && s != stateUnreported }

// Types and reasons of conditions: those that run writes, and those of status
// alone.
const (
	conditionReady       = "Ready"
	conditionReconciling = "Reconciling"
	conditionStalled     = "Stalled"

	reasonPaused       = "Paused"
	reasonRetrying     = "Retrying"
	reasonDeleting     = "Deleting"
	reasonNotObserved  = "NotObserved"
	reasonNoConditions = "NoConditions"
)

// waitingReasons are the reasons of Reconciling that mean waiting for someone else.
var waitingReasons = []string{"Waiting", "Finalizing", reasonDeleting, "NamespaceTerminating"}

// A resourceStatus is the state of one resource. Its JSON is documented.
type resourceStatus struct {
	APIVersion         string        `json:"apiVersion"`
	Kind               string        `json:"kind"`
	Namespace          string        `json:"namespace,omitempty"`
	Name               string        `json:"name"`
	UID                types.UID     `json:"uid"`
	State              resourceState `json:"state"`
	Reason             string        `json:"reason"`
	Message            string        `json:"message"`
	Since              *metav1.Time  `json:"since,omitempty"` // nil: not known
	Generation         int64         `json:"generation,omitempty"`
	ObservedGeneration int64         `json:"observedGeneration,omitempty"`
	Deleting           bool          `json:"deleting,omitempty"`
}

// ref returns KIND/NAME, as kubectl takes it.
func (r *resourceStatus) ref() string { return strings.ToLower(r.Kind) + "/" + r.Name }

// newResourceStatus reads the state of a resource. reported says whether its kind
// has conditions.
func newResourceStatus(u *unstructured.Unstructured, reported conditionsOfKind) resourceStatus {
	r := resourceStatus{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(),
		Generation: u.GetGeneration(), Deleting: u.GetDeletionTimestamp() != nil,
	}
	if reported == noConditions {
		r.State, r.Reason, r.Message = stateUnreported, reasonNoConditions, "the kind has no status.conditions: see its Events"
	} else {
		r.conditions(u)
	}
	if rules.Paused(u.Object) && r.State != statePaused {
		r.is(statePaused, reasonPaused, "paused by the annotation "+rules.AnnotationPaused, nil)
		return r
	}
	if held := reconcelFinalizers(u); r.Deleting && len(held) > 0 {
		r.deleting(u, held)
	}
	return r
}

// conditionsOfKind is whether reconcel writes conditions into a kind.
type conditionsOfKind int

const (
	noConditions conditionsOfKind = iota
	withConditions
)

func (r *resourceStatus) is(state resourceState, reason, message string, since *metav1.Time) {
	r.State, r.Reason, r.Message, r.Since = state, reason, message, since
}

// conditions sets the state from the conditions that reconcel has written.
func (r *resourceStatus) conditions(u *unstructured.Unstructured) {
	all := conditionsOf(u)
	ready, stalled, reconciling := all[conditionReady], all[conditionStalled], all[conditionReconciling]
	switch {
	case ready == nil:
		created := u.GetCreationTimestamp()
		r.is(stateUnknown, reasonNotObserved, "reconcel has not written conditions yet", &created)
		return
	case stalled.isTrue():
		r.shows(stateStalled, stalled)
	case ready.reason == reasonPaused:
		r.shows(statePaused, ready)
	case reconciling.isTrue() && reconciling.reason == reasonRetrying:
		r.shows(stateRetrying, reconciling)
	case reconciling.isTrue() && slices.Contains(waitingReasons, reconciling.reason):
		r.shows(stateWaiting, reconciling)
	case reconciling.isTrue():
		r.shows(stateProgressing, reconciling)
	case ready.isTrue():
		r.shows(stateReady, ready)
	default:
		r.shows(stateUnknown, ready)
	}
	if r.ObservedGeneration = ready.observed; ready.observed > 0 && ready.observed < r.Generation {
		r.is(stateUnknown, reasonNotObserved,
			fmt.Sprintf("generation %d is not observed yet; generation %d was %s: %s", r.Generation, ready.observed, r.State, r.Message), changedAt(u))
	}
}

func (r *resourceStatus) shows(state resourceState, c *liveCondition) {
	r.is(state, c.reason, c.message, c.since)
}

// deleting sets why a resource that is being deleted still exists. An error that
// keeps reconcel from removing its finalizer takes precedence.
func (r *resourceStatus) deleting(u *unstructured.Unstructured, held []string) {
	if r.State == stateStalled || r.State == stateRetrying {
		return
	}
	message := "held by the finalizer " + strings.Join(held, ", ")
	reason := reasonDeleting
	if r.State == stateWaiting {
		reason, message = r.Reason, r.Message
	}
	r.is(stateWaiting, reason, message, u.GetDeletionTimestamp())
}

func reconcelFinalizers(u *unstructured.Unstructured) (held []string) {
	for _, f := range u.GetFinalizers() {
		if strings.HasPrefix(f, rules.Finalizer("")) {
			held = append(held, f)
		}
	}
	return held
}

// A liveCondition is one entry of status.conditions, or nil.
type liveCondition struct {
	status, reason, message string
	since                   *metav1.Time
	observed                int64
}

func (c *liveCondition) isTrue() bool { return c != nil && c.status == "True" }

func conditionsOf(u *unstructured.Unstructured) map[string]*liveCondition {
	status, _ := u.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	found := map[string]*liveCondition{}
	for _, item := range list {
		entry, _ := item.(map[string]any)
		text := func(key string) string { s, _ := entry[key].(string); return s }
		c := &liveCondition{status: text("status"), reason: text("reason"), message: text("message")}
		c.observed, _ = entry["observedGeneration"].(int64)
		if at, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
			c.since = &metav1.Time{Time: at}
		}
		found[text("type")] = c
	}
	return found
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
