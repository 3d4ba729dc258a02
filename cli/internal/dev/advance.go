package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// advancePath is where a server is asked to move its clock. It is no path of Kubernetes.
const advancePath = "/reconcel.dev/advance"

const (
	mostSteps = 100                     // of one advance
	quiet     = 50 * time.Millisecond   // without a change: what was due is done
	quietEnd  = 500 * time.Millisecond  // the same at the end: a slow client may still work
	patience  = 1000 * time.Millisecond // with changes that do not end
)

// An Advanced is the answer of a server whose clock has moved.
type Advanced struct {
	Now time.Time `json:"now"`
}

// Advance moves the clock. It stops at each time at which something is due, as long as these are no more than a
// hundred, and waits until nothing changes any more. So what is due repeatedly happens repeatedly.
func (s *Server) Advance(ctx context.Context, by time.Duration) error {
	s.advancing.Lock()
	defer s.advancing.Unlock()
	for rest := by; rest > 0 && ctx.Err() == nil; {
		step := min(rest, max(s.Clock.Next(rest), by/mostSteps, time.Millisecond))
		s.Clock.Move(step)
		rest -= step
		s.settle(ctx, quiet)
	}
	s.settle(ctx, quietEnd)
	return ctx.Err()
}

// settle waits until the cluster has not changed for a time.
func (s *Server) settle(ctx context.Context, quiet time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, _, next, _ := s.Cluster.Since(s.Cluster.Version())
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-time.After(quiet):
			return
		}
	}
}

func (s *Server) serveAdvance(w http.ResponseWriter, r *http.Request) {
	by, err := time.ParseDuration(r.URL.Query().Get("by"))
	if err != nil || by <= 0 {
		http.Error(w, "by must be a positive duration", http.StatusBadRequest)
		return
	}
	if s.Advance(r.Context(), by) != nil {
		return // The client is gone.
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Advanced{s.Clock.Now()})
}

// ErrNoServer is returned for a cluster that reconcel dev does not serve.
var ErrNoServer = errors.New("is not served by reconcel dev")

// Advance asks the server of a cluster to move its clock, and returns its time then.
func Advance(ctx context.Context, config *rest.Config, by time.Duration) (time.Time, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return time.Time{}, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return time.Time{}, err
	}
	at := base.JoinPath(advancePath)
	at.RawQuery = "by=" + by.String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), nil)
	if err != nil {
		return time.Time{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	var advanced Advanced
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return time.Time{}, fmt.Errorf("%s: %s", config.Host, response.Status)
	case response.StatusCode != http.StatusOK, json.NewDecoder(response.Body).Decode(&advanced) != nil:
		return time.Time{}, fmt.Errorf("%s %w", config.Host, ErrNoServer)
	}
	return advanced.Now, nil
}
