package engine

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
				if want != (err == nil) || !want && !errors.Is(err, errNotLeading) {
					t.Errorf("%s: error %v", method, err)
				}
			}
			if (lost != nil) != test.lost {
				t.Errorf("the end of the term was told as %v", lost)
			}
		})
	}
}

// An openLock is one that everybody gets.
type openLock struct{ resourcelock.Interface }

func (openLock) Identity() string                                                { return "me" }
func (openLock) Update(context.Context, resourcelock.LeaderElectionRecord) error { return nil }

func TestLeadingFollowsTheLease(t *testing.T) {
	term := &term{lost: func(error) {}}
	l := lease{openLock{}, term}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil || !term.holds() {
		t.Errorf("after a renewal it does not lead: %v", err)
	}
	if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil || term.holds() {
		t.Errorf("after the Lease was given back it leads: %v", err)
	}
}
