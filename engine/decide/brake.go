package decide

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/answer"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// A Brake stops creations that would most likely fail as earlier ones did.
type Brake struct {
	// Postponed is whether an earlier failure is not repeated yet. Others that have failed too wait with it, as for an
	// API server that does not answer.
	Postponed  bool
	all        bool
	namespaces []string
}

// Note evaluates the result of one creation. A name conflict, a conflict loop or a dispute
// with other owners says nothing about the other objects, and neither does one rejected
// object of several different ones. A missing permission, an exceeded quota or a namespace
// that does not exist affects the whole namespace. A transient error, such as an API
// server that does not answer, affects all objects.
func (b *Brake) Note(d *rules.Desired, became Step, err error) {
	var terminal *outcome.TerminalError
	var conflict *outcome.ConflictError
	var postponed *outcome.PostponedError
	var contested *ConflictLoopError
	var sharing *SharingError
	switch {
	case errors.As(err, &postponed):
		b.Postponed = true
	case became.Waits == ForNamespace, answer.IsAbsent(err):
		b.namespaces = append(b.namespaces, d.Identity.Namespace)
	case err == nil, errors.Is(err, ErrStale), errors.As(err, &conflict), errors.As(err, &contested),
		errors.As(err, &sharing):
	case errors.As(err, &terminal):
		if apierrors.IsForbidden(terminal) || d.Child.HasReplicas() {
			b.namespaces = append(b.namespaces, d.Identity.Namespace)
		}
	default:
		b.all = true
	}
}

// Stops reports whether the object must not be created now, because the creation of another
// one has failed.
func (b *Brake) Stops(d *rules.Desired) bool {
	return b.all || slices.Contains(b.namespaces, d.Identity.Namespace)
}
