package leader

import (
	"context"
	"errors"
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

// An openLock is a lock that every candidate acquires. It counts its changes.
type openLock struct {
	resourcelock.Interface
	changes int
}

func (*openLock) Identity() string { return "me" }

func (l *openLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	l.changes++
	return nil
}

func TestLeadingFollowsTheLease(t *testing.T) {
	term := &term{lost: func(error) {}}
	l := lease{&openLock{}, term, &leaseTrouble{}, &holderLog{}}
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
	l := lease{lock, term, &leaseTrouble{}, &holderLog{}}
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
	l := lease{lock, term, &leaseTrouble{}, &holderLog{}}
	for range 2 {
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
			t.Error(err)
		}
	}
	if term.check() == nil || lock.changes != 2 {
		t.Errorf("it leads on, or has resigned %d times instead of twice", lock.changes)
	}
}
