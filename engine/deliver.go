package engine

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

// deliver sends Events until ctx ends.
func (b *broadcaster) deliver(ctx context.Context) {
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

// mostTries is how often an Event is sent, within half a minute: that is longer
// than another process takes to lead.
const mostTries = 6

// deliverOne sends one Event. What may pass is tried again later, so that it holds
// up no other.
func (b *broadcaster) deliverOne(ctx context.Context, s *series) {
	err := b.write(ctx, s)
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.tries++
	if s.tries >= mostTries || isFinal(err) || !b.laterLocked(s, time.Second<<(s.tries-1)) {
		b.loseLocked(s, err)
	}
}

// isFinal reports whether an error is the API server's word on the Event itself.
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

// write sends what there is to say of a series: the Event, or how often it has
// happened if the API server has it.
func (b *broadcaster) write(ctx context.Context, s *series) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	b.mu.Lock()
	event, known, count := s.next, s.known, s.count
	if count > 1 {
		event.Series = &eventsv1.EventSeries{Count: count, LastObservedTime: metav1.NewMicroTime(s.last)}
	}
	b.mu.Unlock()
	if known != "" {
		err := b.count(ctx, event, known)
		if err == nil {
			b.wrote(s, known, count)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		// The API server keeps Events for an hour or so. It is told anew.
	}
	_, err := b.client.Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // By a try of which no answer came.
		err = b.count(ctx, event, event.Name)
	}
	if err == nil {
		b.wrote(s, event.Name, count)
	}
	return err
}

// count writes how often an Event has happened.
func (b *broadcaster) count(ctx context.Context, event *eventsv1.Event, name string) error {
	body, err := json.Marshal(map[string]any{"series": event.Series})
	if err != nil {
		return err
	}
	_, err = b.client.Events(event.Namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// wrote notes what the API server knows. What has happened meanwhile is still to be
// said.
func (b *broadcaster) wrote(s *series, known string, count int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.known, s.sent, s.tries = known, time.Now(), 0
	if s.count == count {
		s.next = nil
		return
	}
	b.scheduleLocked(s)
}
