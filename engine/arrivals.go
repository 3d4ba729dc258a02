package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// arrivals tells those who wait for a kind when the API server may have come to
// know it. However many wait, and for however long, they share one request,
// which the API server answers without a body as long as nothing has changed.
type arrivals struct {
	ask func(ctx context.Context, tag string) (string, error)

	mu      sync.Mutex
	tag     string // of the last answer; "" if it had none
	changes int    // how often the tag has changed
	looked  time.Time
}

// How often the shared request is made, and how often each waiter asks for its
// kind even so. An API server that gives its answers no tag is asked for each
// kind, and so is one that could not answer.
const (
	arrivalPoll = 250 * time.Millisecond
	kindPoll    = time.Second
	taggedPoll  = 15 * time.Second
)

// newArrivals asks the cluster of a configuration.
func newArrivals(d discovery.DiscoveryInterfaceWithContext) (*arrivals, error) {
	client, ok := d.RESTClient().(*rest.RESTClient)
	if !ok {
		return nil, fmt.Errorf("unexpected %T", d.RESTClient())
	}
	return &arrivals{ask: func(ctx context.Context, tag string) (string, error) { return askKinds(ctx, client, tag) }}, nil
}

// mark is to be taken before a kind is looked for.
func (a *arrivals) mark() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changes
}

// wait returns when it is worth while to look again for a kind that was not
// found, for this reason, after the mark was taken. It returns false when ctx
// has ended.
func (a *arrivals) wait(ctx context.Context, mark int, reason error) bool {
	tick := time.NewTicker(arrivalPoll)
	defer tick.Stop()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		changes, tagged := a.look(ctx)
		patience := kindPoll
		if tagged && isOutOfReach(reason) {
			patience = taggedPoll
		}
		if changes != mark || time.Since(began) >= patience {
			return ctx.Err() == nil
		}
	}
}

// look makes the shared request, unless somebody has just done so.
func (a *arrivals) look(ctx context.Context) (changes int, tagged bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.looked) >= arrivalPoll*9/10 {
		if tag, err := a.ask(ctx, a.tag); err == nil && tag != a.tag {
			a.tag, a.changes = tag, a.changes+1
		}
		a.looked = time.Now()
	}
	return a.changes, a.tag != ""
}

// isUnknownKind reports whether an error says that there is no such kind.
func isUnknownKind(err error) bool {
	_, yes := errors.AsType[NoKindError](err)
	return yes
}

// askKinds asks for the list of all kinds, unless it still has this tag, and
// returns its tag.
func askKinds(ctx context.Context, client *rest.RESTClient, tag string) (string, error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, client.Get().AbsPath("/apis").URL().String(), http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", discovery.AcceptV2+","+discovery.AcceptV1)
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	response, err := client.Client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // So that the connection is used again.
	switch response.StatusCode {
	case http.StatusNotModified:
		return tag, nil
	case http.StatusOK:
		return response.Header.Get("Etag"), nil
	}
	return "", fmt.Errorf("list kinds: %s", response.Status)
}
