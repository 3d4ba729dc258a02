package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (b *Broadcaster) deliver(ctx context.Context) {
	for {
		select {
		case s := <-b.unsent:
			b.deliverOne(ctx, s)
			b.open.Add(-1)
		case <-ctx.Done():
			return
		}
	}
}

// mostTries is how often an Event is sent, within half a minute. Another process
// takes less than that to become the leader.
const mostTries = 6

// deliverOne sends one Event. After a temporary error it is queued again later, so
// that it delays no other Event.
func (b *Broadcaster) deliverOne(ctx context.Context, s *series) {
	err := b.write(ctx, s)
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.tries++
	if s.tries >= mostTries || isFinal(err) || !b.delayLocked(s, time.Second<<(s.tries-1)) {
		b.dropLocked(s, err)
	}
}

// isFinal reports whether the API server rejected the Event itself.
func isFinal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// write sends a series: the Event, or its count if the API server has the Event.
func (b *Broadcaster) write(ctx context.Context, s *series) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	b.mu.Lock()
	event, name, count := s.next, s.name, s.count
	if count > 1 {
		event.Series = &eventsv1.EventSeries{Count: count, LastObservedTime: metav1.NewMicroTime(s.last)}
	}
	b.mu.Unlock()
	if name != "" {
		err := b.writeCount(ctx, event, name)
		if err == nil {
			b.written(s, name, count)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		// The API server keeps Events for about an hour. Create it again.
	}
	_, err := b.client.Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // The answer to an earlier try was lost.
		err = b.writeCount(ctx, event, event.Name)
	}
	if err == nil {
		b.written(s, event.Name, count)
	}
	return err
}

func (b *Broadcaster) writeCount(ctx context.Context, event *eventsv1.Event, name string) error {
	body, err := json.Marshal(map[string]any{"series": event.Series})
	if err != nil {
		return err
	}
	_, err = b.client.Events(event.Namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// written notes what the API server has. What happened meanwhile is sent next.
func (b *Broadcaster) written(s *series, name string, count int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.name, s.sent, s.tries = name, time.Now(), 0
	if s.count == count {
		s.next = nil
		return
	}
	b.scheduleLocked(s)
}
