package engine

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
)

// A broadcaster sends Events to the API server, in the background. They may be
// lost; nothing depends on them.
type broadcaster struct{ events.EventBroadcaster }

// newBroadcaster makes a broadcaster that writes from start until stop.
func newBroadcaster(config *rest.Config) (*broadcaster, error) {
	client, err := eventsclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &broadcaster{events.NewBroadcaster(&events.EventSinkImpl{Interface: client})}, nil
}

func (b *broadcaster) recorder() events.EventRecorder {
	return b.NewRecorder(runtime.NewScheme(), "reconcel.dev/reconcel")
}

// start begins to write, until ctx ends.
func (b *broadcaster) start(ctx context.Context) error {
	return b.StartRecordingToSinkWithContext(ctx)
}

func (b *broadcaster) stop() { b.Shutdown() }

// A recorder records Events about primaries.
type recorder struct{ events.EventRecorder }

func (r recorder) normal(about *object, reason, note string) {
	r.event(about, corev1.EventTypeNormal, reason, note)
}

func (r recorder) warning(about *object, reason, note string) {
	r.event(about, corev1.EventTypeWarning, reason, note)
}

func (r recorder) event(about *object, eventType, reason, note string) {
	r.Eventf(reference(about), nil, eventType, reason, "Reconcile", "%s", bounded(note))
}

// TellRefusedRules records an Event about rules that are not followed, with the
// ConfigMap of the inventory.
func (e *Engine) TellRefusedRules(note string) {
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: e.inventory.namespace, Name: e.inventory.name}
	e.events.Eventf(about, nil, corev1.EventTypeWarning, reasonRulesRefused, "Reload", "%s", bounded(note))
}

// bounded cuts a note off that the API server would refuse.
func bounded(note string) string {
	const longest = 1024
	if len(note) > longest {
		return strings.ToValidUTF8(note[:longest], "")
	}
	return note
}

func reference(o *object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}
