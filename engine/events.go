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

// A recorder writes Events about primaries. They are written in the
// background and may be lost; nothing depends on them.
type recorder struct {
	broadcaster events.EventBroadcaster
	recorder    events.EventRecorder
}

// newRecorder makes a recorder that writes until stop is called.
func newRecorder(config *rest.Config) (*recorder, error) {
	client, err := eventsclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	b := events.NewBroadcaster(&events.EventSinkImpl{Interface: client})
	return &recorder{broadcaster: b, recorder: b.NewRecorder(runtime.NewScheme(), "reconcel.dev/reconcel")}, nil
}

// start begins to write, until ctx ends.
func (r *recorder) start(ctx context.Context) error {
	return r.broadcaster.StartRecordingToSinkWithContext(ctx)
}

func (r *recorder) stop() { r.broadcaster.Shutdown() }

func (r *recorder) normal(about *object, reason, note string) {
	r.event(about, corev1.EventTypeNormal, reason, note)
}

func (r *recorder) warning(about *object, reason, note string) {
	r.event(about, corev1.EventTypeWarning, reason, note)
}

func (r *recorder) event(about *object, eventType, reason, note string) {
	const longest = 1024 // The API server refuses more.
	if len(note) > longest {
		note = strings.ToValidUTF8(note[:longest], "")
	}
	r.recorder.Eventf(reference(about), nil, eventType, reason, "Reconcile", "%s", note)
}

func reference(o *object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}
