package write

import (
	"reconcel/engine/access"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// When a primary asks to be reconciled now, each child is applied once more, and then has the request in an annotation.
// So the children of a primary that a process has not finished are known to the next one, and nothing is written
// again after a restart. The primary itself needs no write, and reconcel no permission for one.
//
// The owners of a shared object may ask at different times, so that it has no such annotation.

// requested reports whether an object is to be applied because its primary asks for it.
func (a *Applier) requested(d *rules.Desired, live *watch.Object, w *access.Written) bool {
	switch {
	case a.Request == "" || live == nil || a.Rehearses():
		return false
	case d.Child.Shared:
		return w.Renew
	}
	return live.ReconciledAt() != a.Request
}

// requestMark returns what an apply adds to an object, so that the request is not answered twice.
func (a *Applier) requestMark(d *rules.Desired) []rules.FieldValue {
	if a.Request == "" || d.Child.Shared {
		return nil
	}
	return []rules.FieldValue{{Path: []string{"metadata", "annotations", rules.AnnotationReconciledAt}, Value: a.Request}}
}
