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

// deliverOne sends one Event, a few times if need be.
func (b *broadcaster) deliverOne(ctx context.Context, s *series) {
	const longest = 8 * time.Second
	for pause := time.Second; ; pause *= 2 {
		err := b.write(ctx, s)
		if err == nil {
			return
		}
		if pause > longest || isAnswer(err) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.loseLocked(s, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// isAnswer reports whether an error is the API server's word on the Event itself.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
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
	if err != nil && !apierrors.IsAlreadyExists(err) { // By a try of which no answer came.
		return err
	}
	b.wrote(s, event.Name, count)
	return nil
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
	s.known, s.sent = known, time.Now()
	if s.count == count {
		s.next = nil
		return
	}
	b.scheduleLocked(s)
}
