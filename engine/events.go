package engine

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
)

// A broadcaster sends Events to the API server, in the background. They may be
// lost; nothing depends on them.
type broadcaster struct {
	events.EventBroadcaster
	sink   *eventSink
	cancel context.CancelFunc
}

// newBroadcaster makes a broadcaster that writes from start until stop.
func newBroadcaster(config *rest.Config) (*broadcaster, error) {
	client, err := eventsclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	sink := &eventSink{EventSinkImpl: events.EventSinkImpl{Interface: client}}
	return &broadcaster{EventBroadcaster: events.NewBroadcaster(sink), sink: sink}, nil
}

func (b *broadcaster) recorder() events.EventRecorder {
	return b.NewRecorder(runtime.NewScheme(), "reconcel.dev/reconcel")
}

// start begins to write. It goes on beyond the end of ctx, until stop: the last
// passes have something to tell too.
func (b *broadcaster) start(ctx context.Context) error {
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return b.StartRecordingToSinkWithContext(ctx)
}

// stop sends what was recorded before, unless that takes long, and nothing more.
// The library does not say when it has passed on everything, but it does so at
// once: when nothing has been under way for a moment there is no more.
func (b *broadcaster) stop() {
	const patience, moment, look = time.Second, 50 * time.Millisecond, 5 * time.Millisecond
	calm := time.Duration(0)
	_ = wait.PollUntilContextTimeout(context.Background(), look, patience, true, func(context.Context) (bool, error) {
		calm += look
		if b.sink.underWay.Load() > 0 {
			calm = 0
		}
		return calm >= moment, nil
	})
	b.cancel()
	b.Shutdown()
}

// An eventSink counts what is under way.
type eventSink struct {
	events.EventSinkImpl
	underWay atomic.Int64
}

// Create implements events.EventSink.
func (s *eventSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s.underWay.Add(1)
	defer s.underWay.Add(-1)
	return s.EventSinkImpl.Create(ctx, e)
}

// Patch implements events.EventSink.
func (s *eventSink) Patch(ctx context.Context, e *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	s.underWay.Add(1)
	defer s.underWay.Add(-1)
	return s.EventSinkImpl.Patch(ctx, e, data)
}

// A recorder records Events about primaries.
type recorder struct{ events.EventRecorder }

func (r recorder) normal(about *object, reason, note string) {
	r.event(about, corev1.EventTypeNormal, reason, note)
}

// again records what is told of an object again and again in the same words. The
// library makes one Event of it that counts, as long as the reference is the
// same; every other Event it remembers for some minutes.
func (r recorder) again(about *object, reason, note string) {
	same := reference(about)
	same.ResourceVersion = ""
	r.Eventf(same, nil, corev1.EventTypeNormal, reason, "Reconcile", "%s", bounded(note))
}

func (r recorder) warning(about *object, reason, note string) {
	r.event(about, corev1.EventTypeWarning, reason, note)
}

func (r recorder) event(about *object, eventType, reason, note string) {
	r.Eventf(reference(about), nil, eventType, reason, "Reconcile", "%s", bounded(note))
}

// TellRefusedRules records an Event about rules that are not followed, with the
// ConfigMap of the inventory.
func (e *Engine) TellRefusedRules(note string) { e.tellOfRules(reasonRulesRefused, "Reload", note) }

// TellMisfitRules records an Event about rules that are followed and do not fit
// the cluster's kinds any more, with the ConfigMap of the inventory.
func (e *Engine) TellMisfitRules(note string) { e.tellOfRules(reasonRulesMisfit, "Check", note) }

func (e *Engine) tellOfRules(reason, action, note string) {
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: e.inventory.namespace, Name: e.inventory.name}
	e.events.Eventf(about, nil, corev1.EventTypeWarning, reason, action, "%s", bounded(note))
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
