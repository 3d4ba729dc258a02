package engine

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/discover"
)

// forbiddenPoll is how often what may not be listed or watched is tried again. The reflector's own backoff would take up to a minute.
const forbiddenPoll = 10 * time.Second

// isForbidden reports whether a permission is missing. A namespace that is being
// deleted refuses new objects in the same words.
func isForbidden(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// pause lets time pass, or less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// pending reports whether a watch may have all that it is to have in a moment.
// What may not be read is not waited for: that takes somebody to change it.
func (w *watch) pending() bool {
	return slices.ContainsFunc(w.troubles(), func(err error) bool { return !discover.IsUnwatchable(err) && !isForbidden(err) })
}
