package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/utils/lru"
)

const (
	eventSenders = 4
	mostUnsent   = 1000        // Events that wait to be sent, and as many that wait for their time
	mostCounts   = 500         // of these, which have been sent before
	mostSeries   = 4096        // Events that are remembered, to count what is told again
	recount      = time.Minute // between two counts of one Event, from the third on
)

// A broadcaster sends Events to the API server, in the background. They may be
// lost; nothing depends on them.
//
// The broadcaster of client-go is not used because what it needs has no bound: a
// goroutine for each Event, which tries for minutes while the API server is away,
// and 1 KiB for each in the twelve minutes after it (measured: 14 MiB for 15,000
// changes of primaries).
type broadcaster struct {
	client   eventsclient.EventsV1Interface
	log      *slog.Logger
	lost     prometheus.Counter
	instance string
	unsent   chan *series
	open     atomic.Int64 // series that are unsent or under way
	senders  sync.WaitGroup
	cancel   context.CancelFunc

	mu         sync.Mutex
	seed       maphash.Seed
	series     *lru.Cache              // *series by what they tell, hashed
	waiting    map[*series]*time.Timer // for their time; nil once it is over
	complained time.Time               // when the log was last told of an Event that was lost
}

// A series is one Event, and how often it has happened.
type series struct {
	known string // name of the Event; "" until the API server has it
	count int32
	last  time.Time       // when it happened
	sent  time.Time       // when the API server was told
	next  *eventsv1.Event // that is to be sent; nil: nothing is
	tries int             // of sending it
}

// newBroadcaster makes a broadcaster that writes from start until stop.
func newBroadcaster(config *rest.Config, log *slog.Logger, metrics prometheus.Registerer) (*broadcaster, error) {
	client, err := eventsclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // Without one there is nothing to tell it by.
	b := &broadcaster{
		client: client, log: log, instance: EventReporter + "-" + host, unsent: make(chan *series, mostUnsent),
		seed: maphash.MakeSeed(), series: lru.New(mostSeries), waiting: map[*series]*time.Timer{},
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reconcel_events_dropped_total", Help: "Events that the API server rejected, or that exceeded the queue.",
		}),
	}
	metrics.MustRegister(b.lost)
	return b, nil
}

// start begins to write. It goes on beyond the end of ctx, until stop: the last
// passes have something to tell too.
func (b *broadcaster) start(ctx context.Context) {
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for range eventSenders {
		b.senders.Go(func() { b.deliver(ctx) })
	}
}

// stop sends what was recorded before, unless that takes long, and nothing more.
func (b *broadcaster) stop() {
	const patience, look = time.Second, 5 * time.Millisecond
	b.mu.Lock()
	for s, timer := range b.waiting {
		timer.Stop()
		b.queueLocked(s)
	}
	b.waiting = nil
	b.mu.Unlock()
	_ = wait.PollUntilContextTimeout(context.Background(), look, patience, true, func(context.Context) (bool, error) {
		return b.open.Load() == 0, nil
	})
	b.cancel()
	b.senders.Wait()
}

// news is what makes two Events the same.
type news struct {
	about                           corev1.ObjectReference
	eventType, reason, action, note string
}

// Record implements EventRecorder. What has been told before in the same words is
// one Event that counts.
func (b *broadcaster) Record(about corev1.ObjectReference, eventType, reason, action, note string) {
	now := time.Now()
	same := news{about, eventType, reason, action, note}
	same.about.ResourceVersion = ""
	b.mu.Lock()
	defer b.mu.Unlock()
	key := maphash.Comparable(b.seed, same)
	var s *series
	if known, ok := b.series.Get(key); ok {
		s = known.(*series)
	} else {
		s = &series{}
		b.series.Add(key, s)
	}
	s.count, s.last = s.count+1, now
	if s.next == nil { // Otherwise it is on its way.
		s.next = b.event(about, eventType, reason, action, note, now)
		b.scheduleLocked(s)
	}
}

// event is what the API server gets to see.
func (b *broadcaster) event(about corev1.ObjectReference, eventType, reason, action, note string, now time.Time) *eventsv1.Event {
	e := &eventsv1.Event{
		EventTime: metav1.NewMicroTime(now), ReportingController: EventReporter, ReportingInstance: b.instance,
		Regarding: about, Type: eventType, Reason: reason, Action: action, Note: note,
	}
	e.Name, e.Namespace = util.GenerateEventName(about.Name, now.UnixNano()), about.Namespace
	if e.Namespace == "" {
		e.Namespace = metav1.NamespaceDefault
	}
	return e
}

// scheduleLocked has a series sent: at once what is new, and a count that goes on
// and on from time to time.
func (b *broadcaster) scheduleLocked(s *series) {
	rest := recount - time.Since(s.sent)
	if s.count <= 2 || rest <= 0 {
		b.queueLocked(s)
	} else if len(b.waiting) >= mostCounts || !b.laterLocked(s, rest) {
		s.next = nil // The next one takes the count along.
	}
}

// laterLocked has a series sent after a while, unless too many wait already.
func (b *broadcaster) laterLocked(s *series, d time.Duration) bool {
	if b.waiting == nil || len(b.waiting) >= mostUnsent {
		return false
	}
	b.waiting[s] = time.AfterFunc(d, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.waiting[s] != nil {
			delete(b.waiting, s)
			b.queueLocked(s)
		}
	})
	return true
}

var errTooMany = errors.New("the queue of Events is full")

func (b *broadcaster) queueLocked(s *series) {
	b.open.Add(1)
	select {
	case b.unsent <- s:
	default:
		b.open.Add(-1)
		b.loseLocked(s, errTooMany)
	}
}

// loseLocked gives up what was to be sent. The log is told now and then: the
// reason is likely that of the next one too.
func (b *broadcaster) loseLocked(s *series, err error) {
	e, known := s.next, s.known
	s.next, s.tries = nil, 0
	switch {
	case known != "" && errors.Is(err, errTooMany): // The next one takes the count along.
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err): // The namespace goes, or has gone.
	case errors.Is(err, errNotLeading): // The process that leads tells the same.
	default:
		b.lost.Inc()
		if now := time.Now(); now.Sub(b.complained) > recount {
			b.complained = now
			about := e.Regarding
			b.log.Warn("Event dropped", "object", name(about.Kind, about.Namespace, about.Name), "reason", e.Reason, "error", err)
		}
	}
}
