package cli

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/engine/events"
)

// statusEvents are the newest Events of reconcel on the resources of one kind. They
// replace conditions if the kind has none.
type statusEvents struct {
	newest map[string]statusEvent // by the UID of the resource
}

type statusEvent struct {
	at            time.Time
	warning       bool
	reason, notes string
}

var eventResource = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}

// read lists the Events on resources of a kind. Events on a cluster-scoped resource
// are in the namespace default.
func (e *statusEvents) read(ctx context.Context, live *cluster.Cluster, k *statusKind, namespace string) error {
	if !k.kind.Namespaced {
		namespace = metav1.NamespaceDefault
	}
	e.newest = map[string]statusEvent{}
	selector := fields.Set{"reportingController": events.Reporter, "regarding.kind": k.gk.Kind}.AsSelector().String()
	return cluster.ForEach(ctx, live.Client.Resource(eventResource).Namespace(namespace), metav1.ListOptions{FieldSelector: selector},
		func(u *unstructured.Unstructured) { e.add(u.Object) })
}

// add keeps an Event if it is the newest on its resource.
func (e *statusEvents) add(event map[string]any) {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(event, path...)
		return s
	}
	at, err := time.Parse(time.RFC3339Nano, text("series", "lastObservedTime"))
	if err != nil {
		at, _ = time.Parse(time.RFC3339Nano, text("eventTime"))
	}
	uid := text("regarding", "uid")
	if last, ok := e.newest[uid]; !ok || last.at.Before(at) {
		e.newest[uid] = statusEvent{at: at, warning: text("type") == "Warning", reason: text("reason"), notes: text("note")}
	}
}

// explain sets the state of a resource without conditions to unknown if its newest
// Event is a warning.
func (e *statusEvents) explain(s *resourceStatus) {
	event, ok := e.newest[string(s.UID)]
	if s.State != stateUnreported || !ok || !event.warning {
		return
	}
	s.is(stateUnknown, event.reason, "no conditions, the newest Event: "+event.notes, &metav1.Time{Time: event.at})
}
