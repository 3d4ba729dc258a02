package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Another writer may insist on a field of ours: another controller, an autoscaler,
// a second reconcel. Each repair would follow within milliseconds, forever. So the
// first repairs are immediate, and later ones are delayed more and more. The delay
// counts from the change, so that two equal opponents together write twice a minute.
const (
	freeRepairs    = 10
	firstDamping   = 4 * time.Second // doubled with each repair
	conflictPeriod = 57 * time.Second
	// Of two reconcel installations, one waits for most of the period and the other
	// for hardly any of it, so that the object does not flap.
	yieldingWait   = conflictPeriod - insistingWait
	insistingWait  = 500 * time.Millisecond
	evenWait       = conflictPeriod / 2
	conflictMargin = 2500 * time.Millisecond
	// The count restarts only after a longer time: one of the two may be slow.
	conflictMemory = 2 * conflictPeriod
)

// A conflictLoop counts the repairs of one object, and when the next one became
// necessary.
type conflictLoop struct {
	repairs int
	at      time.Time // of the last repair
	seen    time.Time // when the next repair became necessary; zero if none is
	by      culprit   // who made the last repair necessary
}

// repair counts one repair, and returns how long to delay it.
func (c *conflictLoop) repair(now time.Time) (wait time.Duration) {
	if c.repairs > 0 && c.seen.IsZero() && now.Sub(c.at) > conflictMemory {
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

// longest returns the maximum delay of a repair.
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
	const most = 10 // Larger shifts would overflow.
	return min(c.longest(), firstDamping<<min(c.repairs-freeRepairs, most))
}

// calm is how long an object must stay unchanged after a repair before the conflict
// loop is over.
func (c *conflictLoop) calm() time.Duration { return conflictPeriod - c.longest() + conflictMargin }

// standing returns how long until the conflict loop over an object without drift is
// over if no writer changes the object. It returns 0 if there is no conflict loop.
func (c *conflictLoop) standing(now time.Time) time.Duration {
	if c == nil || c.repairs <= freeRepairs {
		return 0
	}
	if !c.seen.IsZero() { // Another writer restored it.
		c.at, c.seen = now, time.Time{}
	}
	return max(0, c.at.Add(c.calm()).Sub(now))
}

// Rendered values may change often for a while, such as the number of Pods during
// a rollout. Nothing legitimate changes that often for long: each window that is used up
// makes the next one smaller, down to one change.
const (
	churnWindow = 30 * time.Second
	mostChanges = 100
)

// A churn counts the changes of one object's rendering.
type churn struct {
	since   time.Time
	changes int
	full    int // windows in a row that were used up
}

// change counts one change, and returns how long to delay it.
func (c *churn) change(now time.Time) (wait time.Duration) {
	if passed := now.Sub(c.since); passed > churnWindow {
		full := 0
		if c.changes >= c.most() && passed <= 2*churnWindow {
			full = c.full + 1
		}
		*c = churn{since: now, full: full}
	}
	if c.changes >= c.most() {
		return c.since.Add(churnWindow).Sub(now) + 1 // The next window has begun then.
	}
	c.changes++
	return 0
}

// standing returns how long until the rendering counts as quiet if it changes no more. It returns 0 if no
// window was used up.
func (c *churn) standing(now time.Time) time.Duration {
	if c == nil || c.full == 0 {
		return 0
	}
	return max(0, c.since.Add(2*churnWindow).Sub(now))
}

// most returns how many changes the window has.
func (c *churn) most() int { return max(1, mostChanges>>min(4*c.full, 8)) }

// A damper counts the writes of one object, in order to delay those that repeat.
type damper struct {
	loop  *conflictLoop // with another writer; nil: never restored
	churn *churn        // of the rendering; nil: it never changed
}

// change counts one change of the rendering, and returns how long to delay it. Like repair,
// it keeps the count of a copy.
func (d *damper) change(now time.Time) (wait time.Duration) {
	c := &churn{}
	if d.churn != nil {
		*c = *d.churn
	}
	d.churn = c
	return c.change(now)
}

// repair counts one repair, and returns how long to delay it. It replaces the
// conflict loop, so that a copy of the damper keeps the count from before.
func (d *damper) repair(now time.Time) (wait time.Duration) {
	loop := &conflictLoop{}
	if d.loop != nil {
		*loop = *d.loop
	}
	d.loop = loop
	return loop.repair(now)
}

// uncount takes a count back if the write failed because the cache is behind: the
// API server wrote nothing, so there was nothing for another writer to undo. Nor is there
// if admission undoes a write, which is then repeated like a rejected one.
func (d *damper) uncount(before damper, err error) {
	_, undone := errors.AsType[*strippedError](err)
	if errors.Is(err, errStale) || apierrors.IsConflict(err) || undone {
		*d = before
	}
}

// A conflictLoopError means that an object is changed as often as it is restored.
type conflictLoopError struct {
	object string // Kind/namespace/name
	by     string // who changes which fields, or deletes the object; empty if the rendering changes
	wait   time.Duration

	remedy  string // "": that of a child
	reads   string // what the expressions read that changes with each write; "": not known
	deleted bool
}

// Error names the writer, the fields and the remedy.
func (e *conflictLoopError) Error() string {
	if e.by == "" {
		return e.object + " is rendered differently each time, so reconcel applies it more and more slowly; " + cmp.Or(e.reads, "check what its template reads")
	}
	if e.deleted {
		return fmt.Sprintf("%s: %s each time reconcel creates it; stop that writer", e.object, e.by)
	}
	return fmt.Sprintf("%s: %s each time reconcel restores it; %s", e.object, e.by, cmp.Or(e.remedy, "stop that writer, or add the field to ignoreFields"))
}

// damp counts an update of an object, and returns an error if the update has to
// wait. If the object differs although our last write was the same, another writer
// has undone it, no matter which hash the object has now. The caller runs tell after
// an update that changed something.
func (p *pass) damp(ctx context.Context, k Kind, d *rules.Desired, w *written, live *watch.Object) (tell func(), err error) {
	now := p.engine.clock.Now()
	switch {
	case p.reapply && !drifted(d, live, w):
		return func() { p.did(Configured, d, whyPeriodic) }, nil
	case p.verdict.inherits(live):
		return func() { p.did(Configured, d, whyTakenOver) }, nil
	case !drifted(d, live, w) && p.predatesSchema(d, live, w):
		return func() { p.did(Configured, d, whySchema) }, nil
	case d.Child.Generates() && p.isDue(d, live) && !drifted(d, live, w):
		if wait := w.damper.repair(now); wait > 0 {
			return nil, w.damper.loop.wait(d, wait)
		}
		return func() { p.did(Configured, d, whyGenerated) }, nil
	case moved(d, live) && !drifted(d, live, w): // No other writer has changed it.
	case w.uid == live.GetUID() && w.hash == d.Hash && !d.Child.Shared || carriesRendering(live, d):
		if wait := w.damper.repair(now); wait > 0 {
			return nil, w.damper.loop.wait(d, wait)
		}
		w.damper.loop.by = p.whoChanged(ctx, k, d, w, live)
		return func() { p.repaired(d, w.damper.loop.by) }, nil
	}
	if wait := w.damper.change(now); wait > 0 {
		return nil, &conflictLoopError{object: d.Identity.String(), reads: p.volatileReads(), wait: wait}
	}
	return func() { p.did(Configured, d, p.trigger) }, nil
}

// contested returns an error while it is unknown whether a restored object stays
// unchanged.
func (p *pass) contested(d *rules.Desired, w *written) error {
	rest := w.damper.loop.standing(p.engine.clock.Now())
	if rest == 0 {
		return nil
	}
	return w.damper.loop.wait(d, rest)
}

// wait returns the error of a write of an object that has to wait.
func (c *conflictLoop) wait(d *rules.Desired, wait time.Duration) error {
	return &conflictLoopError{object: d.Identity.String(), by: c.by.String(), deleted: c.by.deletes, wait: wait}
}

// A culprit is who changed our fields of an object, as far as the object shows it.
type culprit struct {
	manager      string   // current owner of the fields; empty if they were removed
	fields       []string // the first of our changed fields
	more         int      // number of further fields
	installation string   // namespace/name, if it is another reconcel
	insists      bool     // the other installation restores its rendering at once
	deletes      bool     // it deleted the object
}

func (c culprit) String() string {
	who := "an unknown writer"
	switch {
	case c.deletes:
		return "another writer deleted it"
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

// whoChanged finds out who made a repair of a cached state necessary. It reads the
// object, because the cache keeps no field managers but ours. The repair waits for the
// answer, so the read is a fast one. A failure to find out does not stop the repair.
func (p *pass) whoChanged(ctx context.Context, k Kind, d *rules.Desired, w *written, cached *watch.Object) culprit {
	u, err := p.getSince(ctx, k, d.Identity, cached.GetResourceVersion())
	if err != nil {
		return culprit{}
	}
	desired, err := d.Object()
	if err != nil {
		return culprit{}
	}
	return culpritOf(u, identifying(desired), w.fields, p.engine.installation)
}

// culpritOf compares an object with its rendering, and with the fields that we
// owned after our last write.
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

// setFields keeps the first of the fields, and the number of the others.
func (c *culprit) setFields(fields []string) {
	const most = 3
	slices.Sort(fields)
	fields = slices.Compact(fields)
	c.fields = fields[:min(len(fields), most)]
	c.more = len(fields) - len(c.fields)
}
