package leader

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestOnlyALeaderWrites(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	ago := func(d time.Duration) *time.Time { at := time.Now().Add(-d); return &at }
	for _, test := range []struct {
		name    string
		renewed *time.Time
		writes  bool
		lost    bool
	}{
		{"that has just renewed the Lease", ago(time.Second), true, false},
		{"that could not renew it", ago(renewDeadline), false, true},
		{"that woke up in another age", ago(time.Hour), false, true},
		{"that never led", nil, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var lost error
			term := &term{lost: func(err error) { lost = err }}
			term.renewed.Store(test.renewed)
			client := &http.Client{Transport: guarded{http.DefaultTransport, term}}
			for method, want := range map[string]bool{
				http.MethodGet: true, http.MethodPost: test.writes, http.MethodPatch: test.writes, http.MethodDelete: test.writes,
			} {
				request, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				response, err := client.Do(request)
				if err == nil {
					_ = response.Body.Close()
				}
				if want != (err == nil) || !want && !errors.Is(err, ErrNotLeading) {
					t.Errorf("%s: error %v", method, err)
				}
			}
			if (lost != nil) != test.lost {
				t.Errorf("the end of the term was told as %v", lost)
			}
		})
	}
}

// able are processes that reach the API server; unable are those that do not.
type (
	able   struct{}
	unable struct{}
)

func (able) Unreachable(time.Duration) error { return nil }

var errUnreachable = errors.New("no route to host")

func (unable) Unreachable(time.Duration) error { return errUnreachable }

// TestUnableProcessesDoNotLead has a process that cannot work meet a free Lease, and hold one.
func TestUnableProcessesDoNotLead(t *testing.T) {
	var lost error
	lock := &openLock{}
	term := &term{lost: func(err error) { lost = err }}
	l := lease{lock, term, unable{}, &leaseTrouble{}, &holderLog{}}
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	if err := l.Create(t.Context(), mine); !errors.Is(err, errUnreachable) {
		t.Errorf("it creates the Lease: %v", err)
	}
	if err := l.Update(t.Context(), mine); !errors.Is(err, errUnreachable) || lock.changes > 0 {
		t.Errorf("it takes the Lease: %v", err)
	}
	l.work = able{}
	if err := l.Update(t.Context(), mine); err != nil || !term.mayWrite() {
		t.Errorf("a process that can work does not lead: %v", err)
	}
	l.work = unable{}
	if err := l.Update(t.Context(), mine); err != nil || !term.mayWrite() {
		t.Errorf("a leader does not renew the Lease: %v", err)
	}
	if term.giveUp(l.work.Unreachable(leaseDuration)); !errors.Is(lost, errUnreachable) || term.mayWrite() {
		t.Errorf("the term has not ended: %v", lost)
	}
}

// An openLock is a lock that every candidate acquires. It counts its changes.
type openLock struct {
	resourcelock.Interface
	changes int
	holder  string
}

func (*openLock) Identity() string { return "me" }

func (l *openLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, nil
}

func (l *openLock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	l.changes++
	return nil
}

func (l *openLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	l.changes++
	return nil
}

func TestLeadingFollowsTheLease(t *testing.T) {
	term := &term{lost: func(error) {}}
	l := lease{&openLock{}, term, able{}, &leaseTrouble{}, &holderLog{}}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil || !term.mayWrite() {
		t.Errorf("after a renewal it does not lead: %v", err)
	}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil || term.mayWrite() {
		t.Errorf("after the Lease was given back it leads: %v", err)
	}
}

// TestForeignLeaseIsNotReleased lets a leader resign that slept until another
// may have the Lease.
func TestForeignLeaseIsNotReleased(t *testing.T) {
	var lost error
	lock, slept := &openLock{}, time.Now().Add(-leaseDuration)
	term := &term{lost: func(err error) { lost = err }}
	term.renew(slept)
	l := lease{lock, term, able{}, &leaseTrouble{}, &holderLog{}}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err == nil || lock.changes > 0 {
		t.Errorf("a Lease that another may hold was changed %d times, error %v", lock.changes, err)
	}
	if term.check() == nil || lost == nil {
		t.Error("the end of the term was not told")
	}
}

// TestResigningIsTriedAgain resigns while a renewal is under way: that makes the
// first attempt a conflict.
func TestResigningIsTriedAgain(t *testing.T) {
	lock := &openLock{}
	term := &term{lost: func(error) { t.Error("it was told as a loss") }}
	term.renew(time.Now())
	l := lease{lock, term, able{}, &leaseTrouble{}, &holderLog{}}
	for range 2 {
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
			t.Error(err)
		}
	}
	if term.check() == nil || lock.changes != 2 {
		t.Errorf("it leads on, or has resigned %d times instead of twice", lock.changes)
	}
}

// TestLeaderThatSeesAnotherEnds deletes the Lease of a leader, so that another process creates it first.
func TestLeaderThatSeesAnotherEnds(t *testing.T) {
	var lost error
	term := &term{lost: func(err error) { lost = err }}
	term.renew(time.Now())
	lock := &openLock{holder: "me"}
	l := lease{lock, term, able{}, &leaseTrouble{}, &holderLog{log: slog.New(slog.DiscardHandler)}}
	if _, _, err := l.Get(t.Context()); err != nil || !term.mayWrite() {
		t.Fatalf("it does not lead: %v", err)
	}
	lock.holder = "other"
	if _, _, err := l.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if term.mayWrite() || lost == nil || !strings.Contains(lost.Error(), "other") {
		t.Errorf("it leads on beside another one; the end of the term was told as %v", lost)
	}
}
