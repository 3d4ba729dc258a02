package plan

import (
	"testing"

	"reconcel/engine/ident"
	"reconcel/rules"
)

// TestQuestionAboutOrphanedObjects asks why a reconciliation kept an object. The question does not hand over the object.
func TestQuestionAboutOrphanedObjects(t *testing.T) {
	ls, req, l := &orphanedObjects{}, ident.Request{Name: "one"}, OrphanedObject{Rule: &rules.Rule{Name: "gone"}}
	if why := ls.Why(req, l); why != "" || ls.Has(req) {
		t.Errorf("before the first cleanup it is kept, %q", why)
	}
	ls.Add(req, l)
	ls.Note(req, l, KeptByAnother)
	if why := ls.Why(req, l); why != KeptByAnother {
		t.Errorf("it is kept, %q", why)
	}
	ls.Note(req, l, "")
	if why := ls.Why(req, l); why != "" || ls.Has(req) {
		t.Errorf("after its deletion it is kept, %q", why)
	}
}
