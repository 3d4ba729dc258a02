package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"reconcel/engine/leader"
	"reconcel/test/e2e"
)

// TestLastEventsAreSent records an Event and stops: it is with the API server by
// then, however slow that is.
func TestLastEventsAreSent(t *testing.T) { synctest.Test(t, testLastEventsAreSent) }

func testLastEventsAreSent(t *testing.T) {
	sent := make(chan struct{}, 1)
	server := e2e.Handled{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(200 * time.Millisecond):
			sent <- struct{}{}
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusBadRequest) // It is not to be tried again.
	})}
	client, err := eventsclient.NewForConfig(&rest.Config{Host: "https://api.invalid", Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBroadcaster(client, clock.RealClock{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	ctx, cancel := context.WithCancel(t.Context())
	b.Start(ctx)
	cancel() // As SIGTERM does.
	tell(b, "a", "the last one")
	b.Stop()
	select {
	case <-sent:
	default:
		t.Error("the last Event was lost")
	}
}

func tell(b *Broadcaster, object, note string) {
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: object}
	b.Record(about, corev1.EventTypeNormal, "Tested", "Test", note)
}

// A bulletin is an API server that takes Events.
type bulletin struct {
	*Broadcaster
	eventsclient.EventsV1Interface
	eventsclient.EventInterface
	log     bytes.Buffer
	metrics *prometheus.Registry

	mu     sync.Mutex
	answer func() error     // to the next request; nil: yes
	after  error            // what its sender hears of a request that was taken
	counts map[string]int32 // of the Events, by name
	sent   []string         // verbs
	told   []string         // notes of the created Events
	times  []time.Time      // of the created Events
}

func newBulletin(t *testing.T) *bulletin {
	t.Helper()
	l := &bulletin{counts: map[string]int32{}, metrics: prometheus.NewRegistry()}
	l.Broadcaster = NewBroadcaster(l, clock.RealClock{}, slog.New(slog.NewTextHandler(&l.log, nil)), l.metrics)
	return l
}

var (
	events  = schema.GroupResource{Group: eventsv1.GroupName, Resource: "events"}
	noEvent = apierrors.NewNotFound(events, "gone")
)

// Events implements Client.
func (l *bulletin) Events(string) eventsclient.EventInterface { return l }

// Create implements eventsclient.EventInterface.
func (l *bulletin) Create(_ context.Context, e *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	err := l.take("create", e.Name, e.Series, false)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told, l.times = append(l.told, e.Note), append(l.times, e.EventTime.Time)
	}
	return e, err
}

// Patch implements eventsclient.EventInterface.
func (l *bulletin) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*eventsv1.Event, error) {
	e := &eventsv1.Event{}
	if err := json.Unmarshal(data, e); err != nil {
		return nil, err
	}
	return e, l.take("patch", name, e.Series, true)
}

func (l *bulletin) take(verb, name string, series *eventsv1.EventSeries, known bool) error {
	l.mu.Lock()
	answer := l.answer
	l.mu.Unlock()
	if answer != nil {
		if err := answer(); err != nil { // It may take its time.
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, verb)
	switch there := l.counts[name] > 0; {
	case known && !there:
		return noEvent
	case !known && there:
		return apierrors.NewAlreadyExists(events, name)
	}
	l.counts[name] = 1
	if series != nil {
		l.counts[name] = series.Count
	}
	return l.after
}

// answers has it answer otherwise from now on.
func (l *bulletin) answers(answer func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = answer
}

// answersLost has its answers get lost, if err is not nil.
func (l *bulletin) answersLost(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.after = err
}

// losses returns how many Events were lost.
func (l *bulletin) losses(t *testing.T) float64 {
	t.Helper()
	families, err := l.metrics.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%d metrics: %v", len(families), err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

// is checks what has been sent, and how often the Events have happened by it.
func (l *bulletin) is(t *testing.T, verbs string, counts ...int32) {
	t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.sent, " "); got != verbs {
		t.Errorf("sent: %s, want %s", got, verbs)
	}
	var got []int32
	for _, n := range l.counts {
		got = append(got, n)
	}
	if fmt.Sprint(got) != fmt.Sprint(counts) {
		t.Errorf("counts %v, want %v", got, counts)
	}
}

// TestRepeatedEventsAreOneEvent counts up one Event, without a request each time.
func TestRepeatedEventsAreOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		tell(l.Broadcaster, "a", "same")
		l.is(t, "create", 1)
		tell(l.Broadcaster, "a", "same")
		l.is(t, "create patch", 2)
		for range 8 {
			tell(l.Broadcaster, "a", "same")
		}
		l.is(t, "create patch", 2)
		time.Sleep(recount)
		l.is(t, "create patch patch", 10)

		// The API server has forgotten it.
		clear(l.counts)
		time.Sleep(time.Hour)
		tell(l.Broadcaster, "a", "same")
		l.is(t, "create patch patch patch create", 11)
		if n := l.losses(t); n != 0 {
			t.Errorf("%v were lost", n)
		}
	})
}

// TestEventsWaitForTheServer has an API server that is away for a moment.
func TestEventsWaitForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		tries := 0
		l.answers(func() error {
			if tries++; tries < 4 {
				return errors.New("connection refused")
			}
			return nil
		})
		tell(l.Broadcaster, "a", "same")
		time.Sleep(3 * time.Second)
		tell(l.Broadcaster, "a", "same") // While the first one is on its way.
		time.Sleep(5 * time.Second)
		l.is(t, "create", 2)
	})
}

// TestUnsentEventsBlockNothing has an API server that fails for some.
func TestUnsentEventsBlockNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		l.answers(func() error { return apierrors.NewInternalError(errors.New("a webhook is down")) })
		for i := range 2 * senders {
			tell(l.Broadcaster, fmt.Sprint(i), "one of many")
		}
		synctest.Wait()
		l.answers(nil)
		tell(l.Broadcaster, "good", "another")
		l.is(t, "create", 1)
	})
}

// TestStandbysTellInTime has a process that leads some time after it was told
// something, and one that never does.
func TestStandbysTellInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		l.answers(func() error { return fmt.Errorf("send: %w", leader.ErrNotLeading) })
		tell(l.Broadcaster, "a", "told by others")
		time.Sleep(time.Hour)
		tell(l.Broadcaster, "a", "told by no leader")
		time.Sleep(18 * time.Second)
		l.answers(nil)
		time.Sleep(18 * time.Second)
		l.is(t, "create", 1)
		if l.losses(t) != 0 || l.log.Len() > 0 {
			t.Errorf("%v were lost; the log says:\n%s", l.losses(t), l.log.String())
		}
	})
}

// TestAnswerThatIsLost has an Event arrive of which its sender does not know.
func TestAnswerThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		l.answersLost(errors.New("connection reset"))
		tell(l.Broadcaster, "a", "same")
		synctest.Wait()
		tell(l.Broadcaster, "a", "same")
		l.answersLost(nil)
		time.Sleep(2 * time.Second)
		l.is(t, "create create patch", 2)
	})
}

// TestRefusedEventsAreLost has an API server that says no.
func TestRefusedEventsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		l.answers(func() error {
			return apierrors.NewForbidden(events, "", errors.New("no role"))
		})
		for i := range 5 {
			tell(l.Broadcaster, fmt.Sprint(i), "one of many")
		}
		l.is(t, "")
		if n := l.losses(t); n != 5 {
			t.Errorf("%v were lost, want 5", n)
		}
		if text := l.log.String(); strings.Count(text, "Event dropped") != 1 || !strings.Contains(text, "no role") {
			t.Errorf("the log says:\n%s", text)
		}
		// It was never there: the next one is not counted up.
		l.answers(nil)
		tell(l.Broadcaster, "0", "one of many")
		l.is(t, "create", 2)
	})
}

// TestEventsAreBounded records far more than can be sent.
func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		back := make(chan struct{})
		l.answers(func() error {
			<-back
			return nil
		})
		const many = 3 * mostSeries
		for i := range many {
			tell(l.Broadcaster, fmt.Sprint(i), "one of many")
			if i < senders {
				synctest.Wait() // Each sender has one.
			}
		}
		if got := l.losses(t); got != many-mostUnsent-senders {
			t.Errorf("%v were lost, want %d", got, many-mostUnsent-senders)
		}
		if n := l.series.Len(); n > mostSeries {
			t.Errorf("%d are remembered", n)
		}
		close(back)
		synctest.Wait()
		if got := len(l.sent); got != mostUnsent+senders {
			t.Errorf("%d were sent, want %d", got, mostUnsent+senders)
		}
	})
}

// TestCountsAreBounded has far more that is told again and again than can wait for
// its time. What waits is sent at the end.
func TestCountsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		for i := range 2 * mostSeries {
			for range 3 {
				tell(l.Broadcaster, fmt.Sprint(i), "one of many")
				synctest.Wait()
			}
		}
		if n := len(l.delayed); n != mostCounts {
			t.Errorf("%d wait, want %d", n, mostCounts)
		}
		if n := l.losses(t); n != 0 {
			t.Errorf("%v were lost", n)
		}
		l.Stop()
		thrice := 0
		for _, n := range l.counts {
			if n == 3 {
				thrice++
			}
		}
		if thrice != mostCounts {
			t.Errorf("%d were counted to the end, want %d", thrice, mostCounts)
		}
	})
}

// TestWarningsOfOneFailureAreOneEvent records Warnings that quote another port each time. Other Warnings about the object are
// combined once there were too many.
func TestWarningsOfOneFailureAreOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		warn := func(reason, format string, n int) {
			time.Sleep(time.Second)
			l.Record(corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a", ResourceVersion: fmt.Sprint(n)},
				corev1.EventTypeWarning, reason, "Test", fmt.Sprintf(format, n))
		}
		created := func() int {
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.told)
		}
		for i := range 100 {
			warn("Retrying", "read tcp 10.0.0.1:%d->10.0.0.2:443: connection reset by peer", 40000+i)
		}
		if n := created(); n != 1 {
			t.Errorf("%d Events about one failure: %q", n, l.told)
		}
		for i := range 100 {
			warn("Rejected", "replica %d is rejected", i)
		}
		if n := created(); n != 1+mostNotes+1 {
			t.Errorf("%d Events about many failures, want one for each of %d, and one for the others: %q", n-1, mostNotes, l.told)
		}
		time.Sleep(noteInterval)
		warn("Rejected", "replica %d is rejected", 1000)
		if n := created(); n != 1+mostNotes+2 {
			t.Errorf("%d Events about many failures after a while", n-1)
		}
	})
}

// TestRejectionsOfTwoValuesAreTwoEvents records rejections of two images, one after another.
func TestRejectionsOfTwoValuesAreTwoEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newBulletin(t)
		l.Start(t.Context())
		defer l.Stop()
		about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}
		for _, digit := range []string{"a", "b", "b"} {
			time.Sleep(time.Minute)
			l.Record(about, corev1.EventTypeWarning, Rejected, "Test", "app@sha256:"+strings.Repeat(digit+"1", 32)+" is not signed")
		}
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.told) != 2 || !strings.Contains(l.told[1], "b1b1") {
			t.Errorf("the Events are %q", l.told)
		}
	})
}
