package recording

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine"
	"reconcel/engine/shadow"
	"reconcel/rules/source"
)

// A Writer writes a recording.
type Writer struct {
	mu    sync.Mutex
	out   *json.Encoder
	err   error // the first one
	clock clock.PassiveClock
}

// NewWriter returns a Writer to a file.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{out: json.NewEncoder(out)}
	w.out.SetEscapeHTML(false)
	return w
}

// End ends the recording.
func (w *Writer) End() { w.write(Entry{End: true}) }

// Err returns why the recording is incomplete, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) write(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.At = w.clock.Now()
	w.err = errors.Join(w.err, w.out.Encode(e))
}

// Start records the start of an engine, and returns the engine. It records what the engine asks of the
// dependencies.
func (w *Writer) Start(d engine.Dependencies, o engine.Options) *engine.Stepper {
	w.clock = d.Clock
	w.write(Entry{Start: &Start{o.Namespace, o.Name, o.Namespaces, o.Events, o.ReapplyEvery, o.Shadow != nil, o.MaxDeletions}})
	live := d.Client
	if inner := o.Shadow; inner != nil {
		o.Shadow = &engine.Shadow{Ledger: inner.Ledger, Pretend: func(dynamic.Interface) engine.Pretender {
			pretending := inner.Pretend(live)
			return pretender{client{w.ask, pretending}, pretending}
		}}
	}
	d.Client, d.Kinds, d.Queue = client{w.ask, live}, kinds{w.ask, d.Kinds}, queue{d.Queue, w}
	random := d.Random
	d.Random = func() (f float64) {
		_ = w.ask(&Call{Verb: randomVerb}, &f, func() (any, error) { return random(), nil })
		return f
	}
	return engine.NewStepper(d, o)
}

// A pretender records what a shadow asks of its client.
type pretender struct {
	client
	live engine.Pretender // nil in a replay
}

// Begin implements engine.Pretender.
func (p pretender) Begin(ctx context.Context) (context.Context, func() []shadow.Change) {
	wanted := func() []shadow.Change { return nil }
	if p.live != nil {
		ctx, wanted = p.live.Begin(ctx)
	}
	return ctx, func() (all []shadow.Change) {
		_ = p.ask(&Call{Verb: changesVerb}, &all, func() (any, error) { return wanted(), nil })
		return all
	}
}

// Follow records the activation of rules that follows.
func (w *Writer) Follow(files []source.File, now engine.Snapshot) {
	f := &Follow{Objects: now.Objects, Version: now.Version, Numbers: numbersIn(now.Numbers)}
	for _, file := range files {
		f.Files = append(f.Files, File{file.Name, string(file.Data)})
	}
	w.write(Entry{Follow: f})
}

// Event records a change that the engine then observes.
func (w *Writer) Event(old, now *unstructured.Unstructured, version string) {
	if now != nil {
		old = nil
	}
	w.write(Entry{Event: &Event{old, now, version}})
}

// CleanUp records the cleanup that follows.
func (w *Writer) CleanUp() { w.write(Entry{CleanUp: true}) }

// ask answers a call live, and records it.
func (w *Writer) ask(c *Call, out any, live func() (any, error)) error {
	answer, err := live()
	c.Error = failureOf(err)
	if err == nil && out != nil {
		if c.Answer, err = json.Marshal(answer); err == nil {
			err = json.Unmarshal(c.Answer, out) // The engine gets what a replay will get.
		}
	}
	w.write(Entry{Call: c})
	return err
}

// A queue records the requests that it hands out.
type queue struct {
	workqueue.TypedRateLimitingInterface[engine.Request]
	to *Writer
}

// Get implements workqueue.TypedInterface.
func (q queue) Get() (engine.Request, bool) {
	r, stopped := q.TypedRateLimitingInterface.Get()
	if !stopped {
		q.to.write(Entry{Serve: &r})
	}
	return r, stopped
}

// at is the time of the step that is replayed.
type at struct{ now time.Time }

// Now implements clock.PassiveClock.
func (a *at) Now() time.Time { return a.now }

// Since implements clock.PassiveClock.
func (a *at) Since(t time.Time) time.Duration { return a.now.Sub(t) }
