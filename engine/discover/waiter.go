package discover

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// A Waiter lets callers wait until the API server may serve a kind. All of them
// share one conditional request for the list of kinds; the API server answers
// it without a body as long as the list is unchanged.
type Waiter struct {
	ask func(ctx context.Context, etag string) (string, error)

	mu      sync.Mutex
	etag    string // of the last answer; "" if it had none
	changes int    // number of changes of the ETag
	asked   time.Time
}

// PollInterval is how often a Waiter asks for the list of kinds.
const PollInterval = 250 * time.Millisecond

// How long Wait waits at most. The longer time holds if the API server sends
// ETags and the kind is merely missing.
const (
	waitWithoutETag = time.Second
	waitWithETag    = 15 * time.Second
)

// NewWaiter returns a Waiter for an API server.
func NewWaiter(d discovery.DiscoveryInterfaceWithContext) (*Waiter, error) {
	client, ok := d.RESTClient().(*rest.RESTClient)
	if !ok {
		return nil, fmt.Errorf("unexpected %T", d.RESTClient())
	}
	return &Waiter{ask: func(ctx context.Context, etag string) (string, error) { return askETag(ctx, client, etag) }}, nil
}

// Mark returns the present state of the list of kinds, for Wait. Callers take it
// before they look for a kind, so that Wait misses no change.
func (w *Waiter) Mark() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}

// Wait returns when it is worth to look for a kind again: the list of kinds has
// changed since the mark, or enough time has passed. reason is why the kind was
// not found. Wait returns false when ctx has ended.
func (w *Waiter) Wait(ctx context.Context, mark int, reason error) bool {
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		changes, tagged := w.poll(ctx)
		longest := waitWithoutETag
		if tagged && IsUnwatchable(reason) {
			longest = waitWithETag
		}
		if changes != mark || time.Since(began) >= longest {
			return ctx.Err() == nil
		}
	}
}

// poll makes the shared request, unless another caller has just made it.
func (w *Waiter) poll(ctx context.Context) (changes int, tagged bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.asked) >= PollInterval*9/10 {
		if etag, err := w.ask(ctx, w.etag); err == nil && etag != w.etag {
			w.etag, w.changes = etag, w.changes+1
		}
		w.asked = time.Now()
	}
	return w.changes, w.etag != ""
}

// askETag requests the list of kinds if it no longer has this ETag, and returns
// the ETag of the list.
func askETag(ctx context.Context, client *rest.RESTClient, etag string) (string, error) {
	const timeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, client.Get().AbsPath("/apis").URL().String(),
		http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", discovery.AcceptV2+","+discovery.AcceptV1)
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := client.Client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // So that the connection is used again.
	switch response.StatusCode {
	case http.StatusNotModified:
		return etag, nil
	case http.StatusOK:
		return response.Header.Get("Etag"), nil
	}
	return "", fmt.Errorf("list kinds: %s", response.Status)
}
