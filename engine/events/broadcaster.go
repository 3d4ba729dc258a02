package events

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"os"
	"path"
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
	"k8s.io/client-go/tools/record/util"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"reconcel/engine/answer"
	"reconcel/engine/leader"
)

// Reporter is the reportingController of all Events.
const Reporter = "reconcel.dev/reconcel"

const (
	senders        = 4
	mostUnsent     = 1000        // Events that are queued, and as many that are delayed
	mostCounts     = 500         // delayed Events that were sent before
	mostSeries     = 4096        // Events that are remembered, to count repetitions
	recount        = time.Minute // between two counts of one Event, from the third on
	requestTimeout = 10 * time.Second
)

// A Client writes Events.
type Client = eventsclient.EventsGetter

// A Broadcaster sends Events to the API server.
type Broadcaster struct {
	client   Client
	clock    clock.PassiveClock // of what happens; how often to send is counted by the machine
	log      *slog.Logger
	dropped  prometheus.Counter
	instance string
	unsent   chan *series
	open     atomic.Int64 // series that are queued or being sent
	running  sync.WaitGroup
	cancel   context.CancelFunc

	mu      sync.Mutex
	seed    maphash.Seed
	series  *lru.Cache              // *series by the hash of their content
	topics  *lru.Cache              // *topicOfWarnings by the hash of their content without a note
	delayed map[*series]*time.Timer // nil after Stop
	logged  time.Time               // when a dropped Event was last logged
}

// A series is one Event, and how often it has happened.
type series struct {
	name  string // of the Event; "" until the API server has it
	count int32
	last  time.Time       // when it happened
	sent  time.Time       // when it was last sent
	next  *eventsv1.Event // is to be sent; nil: nothing is
	tries int             // of sending next
}

// NewBroadcaster makes a Broadcaster that writes from Start until Stop.
func NewBroadcaster(client Client, c clock.PassiveClock, log *slog.Logger,
	metrics prometheus.Registerer) *Broadcaster {
	host, _ := os.Hostname() // An instance without a name is still a valid one.
	b := &Broadcaster{
		client: client, clock: c, log: log, instance: Reporter + "-" + host, unsent: make(chan *series, mostUnsent),
		seed: maphash.MakeSeed(), series: lru.New(mostSeries), topics: lru.New(mostSeries),
		delayed: map[*series]*time.Timer{},
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reconcel_events_dropped_total", Help: "Events that the API server rejected, or that exceeded the queue.",
		}),
	}
	metrics.MustRegister(b.dropped)
	return b
}

// Start begins to write. It outlasts ctx, until Stop: the last reconciliations
// record Events too.
func (b *Broadcaster) Start(ctx context.Context) {
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for range senders {
		b.running.Go(func() { b.deliver(ctx) })
	}
}

// Stop sends what was recorded before, for at most a second, and nothing more.
func (b *Broadcaster) Stop() {
	const patience, poll = time.Second, 5 * time.Millisecond
	b.mu.Lock()
	for s, timer := range b.delayed {
		timer.Stop()
		b.queueLocked(s)
	}
	b.delayed = nil
	b.mu.Unlock()
	_ = wait.PollUntilContextTimeout(context.Background(), poll, patience, true, func(context.Context) (bool, error) {
		return b.open.Load() == 0, nil
	})
	b.cancel()
	b.running.Wait()
}

// Rejected is the reason of a Warning about a rejected write. Its note quotes values of users, such as the digest of an
// image, and is repeated with the same text until they change.
const Rejected = "Rejected"

// content is what makes two Events the same. Of the note of another Warning it has the shape, because
// Warnings quote the messages of failed requests, and no note once there were too many different ones.
type content struct {
	about                           corev1.ObjectReference
	eventType, reason, action, note string
}

// A topicOfWarnings counts the different notes of the Warnings about one object for one reason. Like client-go's
// aggregator, a Broadcaster combines them when there were mostNotes within noteInterval.
type topicOfWarnings struct {
	since time.Time
	notes int
}

const (
	mostNotes    = 10
	noteInterval = 10 * time.Minute
)

// Record records an Event about an object. Repeated Events increment the count of
// the first one. The note has at most LongestNote bytes.
func (b *Broadcaster) Record(about corev1.ObjectReference, eventType, reason, action, note string) {
	b.record(about, eventType, reason, action, note, b.clock.Now())
}

// record records an Event with the time when it happened.
func (b *Broadcaster) record(about corev1.ObjectReference, eventType, reason, action, note string, at time.Time) {
	same := content{about, eventType, reason, action, note}
	same.about.ResourceVersion = ""
	if eventType == corev1.EventTypeWarning && reason != Rejected {
		same.note = answer.Shape(note)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.seriesLocked(same, at)
	s.count, s.last = s.count+1, at
	if s.next == nil { // Otherwise it is queued or delayed.
		s.next = b.newEvent(about, eventType, reason, action, note, at)
		b.scheduleLocked(s)
	}
}

// seriesLocked returns the series of an Event, and adds it if it is new.
func (b *Broadcaster) seriesLocked(same content, at time.Time) *series {
	if seen, ok := b.series.Get(maphash.Comparable(b.seed, same)); ok {
		return seen.(*series)
	}
	if same.eventType == corev1.EventTypeWarning && b.hasManyNotesLocked(same, at) {
		same.note = ""
	}
	key := maphash.Comparable(b.seed, same)
	if seen, ok := b.series.Get(key); ok {
		return seen.(*series)
	}
	s := &series{}
	b.series.Add(key, s)
	return s
}

// hasManyNotesLocked counts a new note of a Warning, and reports whether there were too many.
func (b *Broadcaster) hasManyNotesLocked(same content, at time.Time) bool {
	same.note = ""
	key, t := maphash.Comparable(b.seed, same), &topicOfWarnings{since: at}
	if seen, ok := b.topics.Get(key); ok && at.Sub(seen.(*topicOfWarnings).since) < noteInterval {
		t = seen.(*topicOfWarnings)
	} else {
		b.topics.Add(key, t)
	}
	t.notes++
	return t.notes > mostNotes
}

// discard drops an Event that is not sent, because too many wait.
func (b *Broadcaster) discard(about corev1.ObjectReference, eventType, reason, action, note string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLocked(&series{next: b.newEvent(about, eventType, reason, action, note, b.clock.Now())}, errQueueFull)
}

func (b *Broadcaster) newEvent(about corev1.ObjectReference, eventType, reason, action, note string,
	at time.Time) *eventsv1.Event {
	e := &eventsv1.Event{
		EventTime: metav1.NewMicroTime(at), ReportingController: Reporter, ReportingInstance: b.instance,
		Regarding: about, Type: eventType, Reason: reason, Action: action, Note: note,
	}
	e.Name, e.Namespace = util.GenerateEventName(about.Name, at.UnixNano()), about.Namespace
	if e.Namespace == "" {
		e.Namespace = metav1.NamespaceDefault
	}
	return e
}

// scheduleLocked sends a series: a new one at once, a growing count from time to
// time.
func (b *Broadcaster) scheduleLocked(s *series) {
	rest := recount - time.Since(s.sent)
	if s.count <= 2 || rest <= 0 {
		b.queueLocked(s)
	} else if len(b.delayed) >= mostCounts || !b.delayLocked(s, rest) {
		s.next = nil // The next one takes the count along.
	}
}

// delayLocked sends a series after a while. It returns false if too many are
// delayed already.
func (b *Broadcaster) delayLocked(s *series, d time.Duration) bool {
	if b.delayed == nil || len(b.delayed) >= mostUnsent {
		return false
	}
	b.delayed[s] = time.AfterFunc(d, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.delayed[s] != nil {
			delete(b.delayed, s)
			b.queueLocked(s)
		}
	})
	return true
}

var errQueueFull = errors.New("the queue of Events is full")

func (b *Broadcaster) queueLocked(s *series) {
	b.open.Add(1)
	select {
	case b.unsent <- s:
	default:
		b.open.Add(-1)
		b.dropLocked(s, errQueueFull)
	}
}

// dropLocked gives up what was to be sent. It logs from time to time, as the next
// Event probably fails for the same reason.
func (b *Broadcaster) dropLocked(s *series, err error) {
	e, exists := s.next, s.name != ""
	s.next, s.tries = nil, 0
	switch {
	case exists && errors.Is(err, errQueueFull): // The next one takes the count along.
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause),
		apierrors.IsNotFound(err): // The namespace is being deleted, or was.
	case errors.Is(err, leader.ErrNotLeading): // The leader records the same.
	default:
		b.dropped.Inc()
		if now := time.Now(); now.Sub(b.logged) > recount {
			b.logged = now
			about := e.Regarding
			b.log.Warn("Event dropped", "object", path.Join(about.Kind, about.Namespace, about.Name), "reason", e.Reason,
				"error", err)
		}
	}
}
