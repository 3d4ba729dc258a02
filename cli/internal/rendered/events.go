package rendered

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/cluster"
	"reconcel/engine/discover"
	"reconcel/engine/events"
)

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
