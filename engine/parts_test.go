package engine

import (
	"reconcel/engine/access"
	"reconcel/engine/reconcile"
)

// passFor returns a reconciliation of a subject that needs only some of the outside world.
func passFor(s access.Subject) *reconcile.Pass {
	if s.Shared == nil {
		s.Shared = &access.Shared{}
	}
	if s.Cluster == nil {
		s.Cluster = &access.Cluster{Shared: s.Shared}
	}
	p := reconcile.PassOf(s)
	if s.Rendering != nil {
		p.Rendering = s.Rendering
	}
	return p
}
