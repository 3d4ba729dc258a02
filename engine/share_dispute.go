package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// sharingPatience is how long the owners of an object have to agree before they are stalled.
// After a change of the rules they change their parts one after another.
const sharingPatience = time.Second

// A dispute is the time since which the owners of an object do not agree, and what differs.
type dispute struct {
	since   time.Time // zero: they agree
	version string    // of the object that was compared
	field   string    // the first that differs; "": unknown
}

// A sharingError means that owners of a shared object render it differently.
type sharingError struct {
	object  string // Kind/namespace/name
	others  []rules.Share
	field   string
	patient time.Duration // how long they still have to agree
}

// Error names another owner.
func (e *sharingError) Error() string {
	who := e.others[0].Owner.String()
	if more := len(e.others) - 1; more > 0 {
		who = fmt.Sprintf("%s and %d more", who, more)
	}
	if e.patient > 0 {
		return fmt.Sprintf("%s is shared with %s, waits until all render the same", e.object, who)
	}
	differs := "their renderings differ"
	if e.field != "" {
		differs = e.field + " differs"
	}
	return fmt.Sprintf("%s is shared with %s, but %s; it stays as it is until all its owners render the same", e.object, who, differs)
}

// settled returns an error if other owners of an object render it differently than the
// primary.
func (p *pass) settled(ctx context.Context, k Kind, d *rules.Desired, w *written) error {
	live := p.live(d.Identity)
	if live == nil || !live.BelongsTo(p.req) {
		return nil
	}
	others := dissenters(d, live, p.req.UID)
	if len(others) == 0 {
		w.dispute = nil
		return nil
	}
	now := p.engine.clock.Now()
	if w.dispute == nil {
		w.dispute = &dispute{since: now}
	}
	e := &sharingError{object: d.Identity.String(), others: others, patient: w.dispute.since.Add(sharingPatience).Sub(now)}
	if p.findings != nil {
		e.patient = 0
	}
	if e.patient <= 0 {
		e.field = p.firstDifference(ctx, k, d, w, live)
	}
	return e
}

// firstDifference returns a field of the object that the primary renders differently, if the
// object has what another owner renders. It reads each state of the object once: the cache
// has only some of its fields.
func (p *pass) firstDifference(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) string {
	if w.dispute.version == live.GetResourceVersion() {
		return w.dispute.field
	}
	w.dispute.version, w.dispute.field = live.GetResourceVersion(), ""
	if carriesRendering(live, d) {
		return ""
	}
	u, err := p.getSince(ctx, k, d.Identity, live.GetResourceVersion())
	if err != nil {
		return ""
	}
	desired, err := d.Object()
	if err != nil {
		return ""
	}
	w.dispute.field = firstDiffering(u, identifying(desired))
	return w.dispute.field
}

func firstDiffering(u *unstructured.Unstructured, desired map[string]any) string {
	fields := managedfields.ChildEntry(u.Object).Set().Differing(u.Object, desired)
	if len(fields) == 0 {
		return ""
	}
	return slices.Min(fields)
}
