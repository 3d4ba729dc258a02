package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"

	"reconcel/engine"
	"reconcel/engine/shadow"
	"reconcel/rules"
	"reconcel/rules/source"
)

// Options configure a replay.
type Options struct {
	// Files replace the rules of the recording; none keeps them.
	Files []source.File
	Log   *slog.Logger // of the engine; default: nothing is logged
}

// A Result is the outcome of a replay.
type Result struct {
	Reconciliations, Events, Writes int
	// CutOff says that the recording ends within a step, which is not replayed.
	CutOff bool
	// Difference is the first one. It is nil if all decisions are the same.
	Difference *Difference
}

// A Difference is a write, or another call, in which a replay differs from its recording.
type Difference struct {
	Line int    // of the recording: the step
	Step string // what the engine was doing
	// Recorded and Replayed are the calls. One of them is nil if the other has no counterpart.
	Recorded, Replayed *Call
}

// Replay runs an engine through a recording. It ends at the first difference.
func Replay(ctx context.Context, from io.Reader, o Options) (Result, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &player{options: o, in: json.NewDecoder(from)}
	for {
		step, err := p.step()
		switch {
		case errors.Is(err, io.EOF) && p.line == 0:
			return p.result, errors.New("the recording is empty")
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			p.result.CutOff = true
			return p.result, nil
		case err == nil && step.End:
			return p.result, nil
		}
		if err == nil {
			err = p.play(ctx, step)
		}
		if p.result.Difference != nil {
			return p.result, nil
		}
		if err != nil {
			return p.result, fmt.Errorf("line %d: %w", max(p.line, 1), err)
		}
	}
}

// A player is a replay.
type player struct {
	options Options
	in      *json.Decoder
	line    int    // of the current step
	read    int    // lines that were read
	ahead   *Entry // the first line of the next step
	stepper *engine.Stepper
	queue   *script
	now     at
	doing   string
	calls   []*Call // those of the current step that are not made yet
	result  Result
}

// step reads a step with its calls.
func (p *player) step() (step *Entry, err error) {
	if step = p.ahead; step == nil {
		if step, err = p.next(); err != nil {
			return nil, err
		}
	}
	// The line of the step was read last.
	p.line, p.ahead, p.calls = p.read, nil, nil
	for !step.End {
		e, err := p.next()
		if err != nil {
			return nil, err
		}
		if e.Call == nil {
			p.ahead = e
			break
		}
		p.calls = append(p.calls, e.Call)
	}
	return step, nil
}

func (p *player) next() (*Entry, error) {
	e := &Entry{}
	if err := p.in.Decode(e); err != nil {
		return nil, err
	}
	p.read++
	return e, nil
}

// play runs one step, and checks that it made all writes of the recording.
func (p *player) play(ctx context.Context, step *Entry) (err error) {
	p.now.now = step.At
	if step.Start == nil && p.stepper == nil {
		return errors.New("the recording does not begin with a start")
	}
	switch {
	case step.Start != nil:
		p.start(step.Start)
	case step.Follow != nil:
		p.doing = "activation of rules"
		err = p.follow(ctx, step.Follow)
	case step.Event != nil:
		p.doing = "event"
		p.result.Events++
		err = p.stepper.Observe(step.Event.Old, step.Event.New, step.Event.Version)
	case step.Serve != nil:
		p.doing = "reconciliation of " + step.Serve.String()
		p.result.Reconciliations++
		p.queue.next = append(p.queue.next, *step.Serve)
		p.stepper.Serve(ctx)
	case step.CleanUp:
		p.doing = "cleanup"
		_, err = p.stepper.CleanUp(ctx) // Rules to follow again are the next step.
	default:
		return errors.New("the line is no step of a recording")
	}
	if missing := slices.IndexFunc(p.calls, (*Call).IsWrite); missing >= 0 && p.result.Difference == nil {
		p.result.Difference = &Difference{Line: p.line, Step: p.doing, Recorded: p.calls[missing]}
	}
	return err
}

func (p *player) start(s *Start) {
	p.queue = &script{}
	options := engine.Options{Log: p.options.Log, Namespace: s.Namespace, Name: s.Name, Namespaces: s.Namespaces, Events: s.Events, ReapplyEvery: s.ReapplyEvery, MaxDeletions: s.MaxDeletions}
	if s.Shadow {
		options.Shadow = &engine.Shadow{Ledger: shadow.NewLedger(p.now.now), Pretend: func(dynamic.Interface) engine.Pretender {
			return pretender{client: client{ask: p.ask}}
		}}
	}
	p.stepper = engine.NewStepper(engine.Dependencies{
		Client: client{ask: p.ask}, Kinds: kinds{ask: p.ask}, Events: untold{}, Clock: &p.now, Queue: p.queue, InFlight: 1,
		Random: func() (f float64) {
			_ = p.ask(&Call{Verb: randomVerb}, &f, nil)
			return f
		},
	}, options)
}

func (p *player) follow(ctx context.Context, f *Follow) error {
	files := p.options.Files
	if len(files) == 0 {
		for _, file := range f.Files {
			files = append(files, source.File{Name: file.Name, Data: []byte(file.Text)})
		}
	}
	program, err := rules.Load(files)
	if err != nil {
		return err
	}
	return p.stepper.Follow(ctx, program, engine.Snapshot{Objects: f.Objects, Version: f.Version, Numbers: f.numberFields()})
}

// errDiffers answers everything after the first difference.
var errDiffers = errors.New("the replay differs from the recording")

// ask answers a call as in the recording.
func (p *player) ask(c *Call, out any, _ func() (any, error)) error {
	i := slices.IndexFunc(p.calls, func(other *Call) bool {
		return c.isSame(other) || len(p.options.Files) > 0 && c.isInventory() && c.String() == other.String() // It has the text of the rules.
	})
	if i < 0 {
		if p.result.Difference == nil {
			p.result.Difference = &Difference{Line: p.line, Step: p.doing, Recorded: p.counterpart(c), Replayed: c}
		}
		return errDiffers
	}
	recorded := p.calls[i]
	p.calls = slices.Delete(p.calls, i, i+1)
	if c.IsWrite() {
		p.result.Writes++
	}
	if recorded.Error != nil || out == nil {
		return recorded.Error.err()
	}
	return json.Unmarshal(recorded.Answer, out)
}

// counterpart returns the recorded call for the same object, or nil.
func (p *player) counterpart(c *Call) *Call {
	if i := slices.IndexFunc(p.calls, func(other *Call) bool { return other.String() == c.String() }); i >= 0 {
		return p.calls[i]
	}
	return nil
}

// A script is a queue that hands out the requests of the recording. It discards what the engine adds.
type script struct {
	workqueue.TypedRateLimitingInterface[engine.Request]
	next []engine.Request
}

// Add implements workqueue.TypedInterface.
func (*script) Add(engine.Request) {}

// AddAfter implements workqueue.TypedDelayingInterface.
func (*script) AddAfter(engine.Request, time.Duration) {}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (*script) AddRateLimited(engine.Request) {}

// Forget implements workqueue.TypedRateLimitingInterface.
func (*script) Forget(engine.Request) {}

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (*script) NumRequeues(engine.Request) int { return 0 }

// Done implements workqueue.TypedInterface.
func (*script) Done(engine.Request) {}

// ShuttingDown implements workqueue.TypedInterface.
func (*script) ShuttingDown() bool { return false }

// Len implements workqueue.TypedInterface.
func (s *script) Len() int { return len(s.next) }

// Get implements workqueue.TypedInterface.
func (s *script) Get() (engine.Request, bool) {
	r := s.next[0]
	s.next = s.next[1:]
	return r, false
}

// untold discards Events.
type untold struct{}

// Record implements engine.EventRecorder.
func (untold) Record(corev1.ObjectReference, string, string, string, string) {}
