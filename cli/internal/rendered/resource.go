package rendered

import (
	"context"
	"fmt"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/cluster"
	"reconcel/engine/discover"
	"reconcel/engine/events"
	"reconcel/engine/report"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// A Resource is the state of one resource. Its JSON is documented.
type Resource struct {
	APIVersion         string       `json:"apiVersion"`
	Kind               string       `json:"kind"`
	Namespace          string       `json:"namespace,omitempty"`
	Name               string       `json:"name"`
	UID                types.UID    `json:"uid"`
	State              State        `json:"state"`
	Reason             string       `json:"reason"` // that of a condition, or one of those that become gets
	Message            string       `json:"message"`
	Since              *metav1.Time `json:"since,omitempty"` // nil: not known
	Generation         int64        `json:"generation,omitempty"`
	ObservedGeneration int64        `json:"observedGeneration,omitempty"`
	Deleting           bool         `json:"deleting,omitempty"`
}

// A Reporter reads the state of the resources of a kind.
type Reporter struct {
	HasConditions bool         // reconcel writes conditions into them
	events        newestEvents // instead of conditions
}

// NewReporter asks whether reconcel writes conditions into the resources of a kind. It never
// does so for a kind of Kubernetes itself.
func NewReporter(ctx context.Context, kinds discover.Kinds, k discover.Kind) (*Reporter, error) {
	if kindschema.BuiltInGroup(k.GVK.Group) {
		return &Reporter{}, nil
	}
	owners, err := kinds.Ownership(ctx, k.GVK)
	if discover.IsUnavailable(err) {
		return &Reporter{HasConditions: true}, nil // The objects show whether they have any.
	}
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", k.GVK.GroupKind(), err)
	}
	return &Reporter{HasConditions: owners.Conditions != discover.NoConditions}, nil
}

// ResourceOf reads the state of one resource.
func ResourceOf(ctx context.Context, live *cluster.Cluster, k *discover.Kind,
	u *unstructured.Unstructured) (Resource, error) {
	r, err := NewReporter(ctx, live.Kinds, *k)
	if err != nil {
		return Resource{}, err
	}
	_ = r.ReadEvents(ctx, live, k, u.GetNamespace()) // Without permission to list Events, none are shown.
	return r.Resource(u), nil
}

// Resource returns the state of a resource.
func (r *Reporter) Resource(u *unstructured.Unstructured) Resource {
	s := Resource{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(),
		Generation: u.GetGeneration(), Deleting: u.GetDeletionTimestamp() != nil,
	}
	if r.HasConditions {
		s.readConditions(u)
	} else if state, report, ok := report.ReportedAnnotation(u); ok {
		s.become(State(state), report.Reason, report.Message, nil)
	} else {
		s.readEvent(r.events[s.UID])
	}
	if rules.Paused(u.Object) && s.State != Paused {
		s.become(Paused, "Paused", "paused by the annotation "+rules.AnnotationPaused, nil)
		return s
	}
	if held := OwnFinalizers(u); s.Deleting && len(held) > 0 {
		s.explainDeletion(u, held)
	}
	return s
}

func (r *Resource) become(state State, reason, message string, since *metav1.Time) {
	r.State, r.Reason, r.Message, r.Since = state, reason, message, since
}

// readConditions sets the state from the conditions that reconcel has written.
func (r *Resource) readConditions(u *unstructured.Unstructured) {
	conditions := ConditionsOf(u)
	state, by := report.ReportedState(conditions)
	if by == nil {
		created := u.GetCreationTimestamp()
		r.become(Unknown, "NotObserved", "reconcel has not written conditions yet", &created)
		return
	}
	if state == "" {
		state = string(Unknown)
	}
	r.become(State(state), by.Reason, by.Message, nil)
	if since := by.LastTransitionTime; !since.IsZero() {
		r.Since = &since
	}
	observed := meta.FindStatusCondition(conditions, "Ready").ObservedGeneration
	if r.ObservedGeneration = observed; observed > 0 && observed < r.Generation {
		r.become(Unknown, "NotObserved",
			fmt.Sprintf("generation %d is not observed yet; generation %d was %s: %s", r.Generation, observed, r.State,
				r.Message), changedAt(u))
	}
}

// explainDeletion sets why a resource that is being deleted still exists. An error
// that keeps reconcel from removing its finalizer takes precedence.
func (r *Resource) explainDeletion(u *unstructured.Unstructured, held []string) {
	switch r.State {
	case Stalled, Retrying:
	case Waiting:
		r.Since = u.GetDeletionTimestamp()
	default:
		r.become(Waiting, "Deleting", "held by the finalizer "+strings.Join(held, ", "), u.GetDeletionTimestamp())
	}
}

// OwnFinalizers returns the finalizers of reconcel that hold a resource.
func OwnFinalizers(u *unstructured.Unstructured) (held []string) {
	for _, f := range u.GetFinalizers() {
		if strings.HasPrefix(f, rules.Finalizer("")) {
			held = append(held, f)
		}
	}
	return held
}

// ConditionsOf returns the well-formed conditions of a resource.
func ConditionsOf(u *unstructured.Unstructured) (all []metav1.Condition) {
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

// newestEvents are the newest Events of reconcel, by the UID of the resource. They
// replace conditions if the kind has none.
type newestEvents map[types.UID]event

type event struct {
	at           metav1.Time
	warning      bool
	reason, note string
}

// ReadEvents lists the Events on resources without conditions. Events on a
// cluster-scoped resource are in the namespace default.
func (r *Reporter) ReadEvents(ctx context.Context, live *cluster.Cluster, k *discover.Kind, namespace string) error {
	if r.HasConditions {
		return nil
	}
	if !k.Namespaced {
		namespace = metav1.NamespaceDefault
	}
	r.events = newestEvents{}
	selector := fields.Set{"reportingController": events.Reporter, "regarding.kind": k.GVK.Kind}.AsSelector().String()
	list := live.Client.Resource(eventsv1.SchemeGroupVersion.WithResource("events")).Namespace(namespace)
	return cluster.ForEach(ctx, list, metav1.ListOptions{FieldSelector: selector}, r.events.add)
}

// add keeps an Event if it is the newest on its resource.
func (newest newestEvents) add(u *unstructured.Unstructured) {
	var e eventsv1.Event
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &e) != nil {
		return // The API server validates Events.
	}
	at := metav1.Time{Time: e.EventTime.Time}
	if e.Series != nil {
		at.Time = e.Series.LastObservedTime.Time
	}
	if last, ok := newest[e.Regarding.UID]; !ok || last.at.Before(&at) {
		newest[e.Regarding.UID] = event{at, e.Type == "Warning", e.Reason, e.Note}
	}
}

// readEvent sets the state of a resource without conditions. It is unknown if the
// newest Event is a warning.
func (r *Resource) readEvent(newest event) {
	if newest.warning {
		r.become(Unknown, newest.reason, "no conditions, the newest Event: "+newest.note, &newest.at)
		return
	}
	r.become(Unreported, "NoConditions", "the kind has no status.conditions: see its Events", nil)
}
