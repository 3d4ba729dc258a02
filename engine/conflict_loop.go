package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Somebody else may insist on a field of ours: another controller, an
// autoscaler, a second reconcel. Each answer would follow within milliseconds,
// for ever. So what is ours is restored a few times at once, and then more and
// more slowly: a while after the change was seen, so that two that do the same
// write twice a minute together.
const (
	freeRepairs   = 10
	firstDamping  = 4 * time.Second // doubled with each repair
	contestPeriod = 57 * time.Second
	// Of two reconcels one waits for most of the period and the other for hardly
	// any of it, so that the object does not go back and forth.
	yieldingWait  = contestPeriod - insistingWait
	insistingWait = 500 * time.Millisecond
	evenWait      = contestPeriod / 2
	contestMargin = 2500 * time.Millisecond
	// A count begins again only after a longer time: one of the two may be slow.
	contestMemory = 2 * contestPeriod
)

// A conflictLoop counts how often one object was restored, and since when it is to
// be restored again.
type conflictLoop struct {
	repairs int
	at      time.Time // of the last repair
	seen    time.Time // when it was seen to be needed again; zero: it is not
	by      culprit   // who made the last one necessary
}

// repair counts one repair, and returns how long to wait with it.
func (c *conflictLoop) repair(now time.Time) (wait time.Duration) {
	if c.repairs > 0 && c.seen.IsZero() && now.Sub(c.at) > contestMemory {
		*c = conflictLoop{}
	}
	if c.repairs >= freeRepairs {
		if c.seen.IsZero() {
			c.seen = now
		}
		if wait = c.seen.Add(c.damping()).Sub(now); wait > 0 {
			return wait
		}
	}
	c.repairs, c.at, c.seen = c.repairs+1, now, time.Time{}
	return 0
}

// longest is how long a repair waits at most.
func (c *conflictLoop) longest() time.Duration {
	switch {
	case c.by.installation == "":
		return evenWait
	case c.by.insists:
		return yieldingWait
	}
	return insistingWait
}

func (c *conflictLoop) damping() time.Duration {
	const most = 10 // More would overflow in the end.
	return min(c.longest(), firstDamping<<min(c.repairs-freeRepairs, most))
}

// calm is how long after a repair nobody must have changed anything for the
// conflict loop to be over.
func (c *conflictLoop) calm() time.Duration { return contestPeriod - c.longest() + contestMargin }

// standing returns how long until the conflict loop over an object that is as it should
// be is over if nobody changes anything, or 0 if there is none.
func (c *conflictLoop) standing(now time.Time) time.Duration {
	if c == nil || c.repairs <= freeRepairs {
		return 0
	}
	if !c.seen.IsZero() { // It was put right without us.
		c.at, c.seen = now, time.Time{}
	}
	return max(0, c.at.Add(c.calm()).Sub(now))
}

// What is written may have to change often for a while: the count of Pods that
// are being made, say. Nothing changes as often for long.
const (
	churnWindow = 30 * time.Second
	mostChanges = 100
)

// A churn counts the changes of what is written to one object.
type churn struct {
	since   time.Time
	changes int
}

// change counts one change, and returns how long to wait with it.
func (c *churn) change(now time.Time) (wait time.Duration) {
	if now.Sub(c.since) > churnWindow {
		*c = churn{since: now}
	}
	if c.changes >= mostChanges {
		return c.since.Add(churnWindow).Sub(now)
	}
	c.changes++
	return 0
}

// A conflictLoopError says that an object is changed as often as it is restored.
type conflictLoopError struct {
	object string // Kind/namespace/name
	by     string // who changes what; "": what is rendered changes
	wait   time.Duration
}

// Error says who changes what, and what can be done about it.
func (e *conflictLoopError) Error() string {
	if e.by == "" {
		return e.object + " is rendered differently each time; applying it more slowly. Check what its template reads"
	}
	return fmt.Sprintf("%s: %s each time reconcel restores it; stop that writer, or add the field to ignoreFields", e.object, e.by)
}

// damp counts an update of an object, and returns an error if it has to wait.
// Every one counts, whoever's mark the object bears: if our last write was the
// same then somebody has undone it. tell is to be called when the update has
// changed something.
func (p *pass) damp(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) (tell func(), err error) {
	id, now := d.Identity, p.engine.clock.Now()
	wait, by := time.Duration(0), ""
	switch {
	case p.reapply && !drifted(d, live, w):
		return func() { p.did(Configured, d, whyPeriodic) }, nil
	case p.verdict.inherits(live):
		return func() { p.did(Configured, d, whyTakenOver) }, nil
	case w.uid == live.GetUID() && w.hash == d.Hash || carriesRendering(live, d):
		if w.conflictLoop == nil {
			w.conflictLoop = &conflictLoop{}
		}
		if wait = w.conflictLoop.repair(now); wait == 0 {
			w.conflictLoop.by = p.whoChanged(ctx, k, d, w)
			return func() { p.repaired(d, w.conflictLoop.by) }, nil
		}
		by = w.conflictLoop.by.String()
	default:
		if wait = w.churn.change(now); wait == 0 {
			return func() { p.did(Configured, d, p.trigger) }, nil
		}
	}
	return nil, &conflictLoopError{object: id.String(), by: by, wait: wait}
}

// contested returns an error as long as it is not known whether an object that
// was restored stays so.
func (p *pass) contested(d *rules.Desired, w *written) error {
	rest := w.conflictLoop.standing(p.engine.clock.Now())
	if rest == 0 {
		return nil
	}
	id := d.Identity
	return &conflictLoopError{object: id.String(), by: w.conflictLoop.by.String(), wait: rest}
}

// A culprit is who has changed what is ours of an object, as far as the object
// tells.
type culprit struct {
	manager      string   // of the fields now; "": nobody has them, they were removed
	fields       []string // the first of those that are ours
	more         int      // how many there are besides
	installation string   // namespace/name, if it is another reconcel
	insists      bool     // of the two, the other one restores its rendering at once
}

// String says who changed what.
func (c culprit) String() string {
	who := "somebody"
	switch {
	case c.installation != "":
		who = fmt.Sprintf("reconcel %q", c.installation)
	case c.manager != "":
		who = fmt.Sprintf("%q", c.manager)
	}
	switch {
	case len(c.fields) == 0:
		return who + " changed it"
	case c.more > 0:
		return fmt.Sprintf("%s changed %s and %d more", who, strings.Join(c.fields, ", "), c.more)
	}
	return fmt.Sprintf("%s changed %s", who, strings.Join(c.fields, ", "))
}

// whoChanged finds out who made a repair necessary, by a read: the cache has no
// managers but ours. What cannot be found out holds nothing up.
func (p *pass) whoChanged(ctx context.Context, k Kind, d *rules.Desired, w *written) culprit {
	u, err := p.get(ctx, k, d.Identity)
	if err != nil {
		return culprit{}
	}
	desired, err := d.Object()
	if err != nil {
		return culprit{}
	}
	return culpritOf(u, identifying(desired), w.fields, p.engine.installation)
}

// culpritOf compares an object with what we want of it, and with what we owned
// of it after our last write.
func culpritOf(u *unstructured.Unstructured, desired map[string]any, before managedfields.Entry, own string) (c culprit) {
	differing := func() []string {
		return managedfields.ChildEntry(u.Object).Set().Union(before.Set()).Differing(u.Object, desired)
	}
	if other := u.GetAnnotations()[rules.AnnotationInstallation]; other != "" && other != own {
		c.installation, c.insists = other, other < own
		c.setFields(differing())
		return c
	}
	manager, taken := managedfields.TakenBy(u.Object, before)
	if len(taken) == 0 {
		taken = differing()
	}
	c.manager = manager
	c.setFields(taken)
	return c
}

// setFields keeps the first of the fields, and how many there are besides.
func (c *culprit) setFields(fields []string) {
	const most = 3
	slices.Sort(fields)
	fields = slices.Compact(fields)
	c.fields = fields[:min(len(fields), most)]
	c.more = len(fields) - len(c.fields)
}
