//go:build integration

package engine_test

import (
	"testing"
	"time"

	"reconcel/rules"
)

// TestOrphaningDeletionKeepsChildren deletes a primary with --cascade=orphan. Children in other
// namespaces, which the garbage collector does not know, stay without an owner.
func TestOrphaningDeletionKeepsChildren(t *testing.T) {
	for name, teardown := range map[string]string{"at once": "", "in order": "  teardown: ordered\n"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			source, other := w.acrossScopes(teardown)
			w.run(source)
			w.Create(widget("one", "value: first"))
			w.Is(widgets, "one", "Ready", "True")
			w.in(other).Has(configs, "one-far", nil)
			w.deleteWith(widgets, "one", "Orphan")
			w.gone(widgets, "one")
			w.Rest(5 * time.Second)
			far := w.in(other).Get(configs, "one-far")
			if far == nil || far.GetDeletionTimestamp() != nil {
				t.Fatal("the child in another namespace is deleted")
			}
			if owner := far.GetAnnotations()[rules.AnnotationOwner]; owner != "" {
				t.Errorf("it still belongs to %s", owner)
			}
		})
	}
}
