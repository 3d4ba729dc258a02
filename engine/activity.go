package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"reconcel/rules"
)

// What a pass found changed since the one before, as the log says it.
const (
	whyStarted    = "reconcel started"
	whyCreated    = "resource created"
	whyRules      = "rules changed"
	whyResource   = "resource changed"
	whyDependency = "dependency changed"
	whyGone       = "object was deleted"
	whyReplaced   = "object was replaced"
	whyPeriodic   = "periodic apply"
	whyTakenOver  = "taken over from another installation"
	whyUnrendered = "no longer rendered"
	whyEnded      = "resource deleted"
	whyDeselected = "resource no longer matches"
)

// A deed is one thing that was done, for the log.
type deed struct {
	what   string // created, configured, replaced, adopted, deleted, synced
	object string // the primary
	child  string // Kind/namespace/name; "": it was done to the primary
	rule   string
	kind   string // of what it was done to
	why    string
}

// An activity is the log of what is done. Each deed is a line of its own as long
// as there are few. Under load they are counted instead, and summed up from time
// to time: nobody reads ten thousand lines.
type activity struct {
	log *slog.Logger

	mu      sync.Mutex
	room    float64   // lines that may be written now
	at      time.Time // when room was right
	counted map[deed]int
}

const (
	mostLines    = 100 // at once
	linesASecond = 5
	sumInterval  = 10 * time.Second
)

func newActivity(log *slog.Logger) *activity {
	return &activity{log: log, room: mostLines, counted: map[deed]int{}}
}

// tell logs a deed, or counts it.
func (a *activity) tell(now time.Time, d deed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.room = min(mostLines, a.room+linesASecond*max(0, now.Sub(a.at).Seconds()))
	a.at = now
	if a.room >= 1 {
		a.room--
		a.write(d)
		return
	}
	d.object, d.child = "", ""
	a.counted[d]++
}

// write logs one deed. What it has not is left out by the handler.
func (a *activity) write(d deed) {
	//nolint:sloglint // One of the constants that a deed names.
	a.log.Info(d.what, "object", d.object, "child", d.child, "rule", d.rule, "trigger", d.why)
}

// run writes what was counted until ctx ends, and the rest then.
func (a *activity) run(ctx context.Context) {
	tick := time.NewTicker(sumInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			a.flush()
			return
		case <-tick.C:
			a.flush()
		}
	}
}

func (a *activity) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sum()
}

// sum writes the counts, the largest first.
func (a *activity) sum() {
	all := make([]deed, 0, len(a.counted))
	for d := range a.counted {
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y deed) int {
		return cmp.Or(a.counted[y]-a.counted[x], cmp.Compare(x.what, y.what), cmp.Compare(x.kind, y.kind), cmp.Compare(x.rule, y.rule), cmp.Compare(x.why, y.why))
	})
	const most = 20
	for i, d := range all {
		if i == most {
			a.log.Info("activity summary is incomplete", "omitted", len(all)-most)
			break
		}
		a.log.Info("activity summary", "action", d.what, "count", a.counted[d], "kind", d.kind, "rule", d.rule, "trigger", d.why)
	}
	clear(a.counted)
}

// did logs what was done to an object.
func (p *pass) did(what Action, d *rules.Desired, why string) {
	id := d.Identity
	p.engine.activity.tell(p.engine.clock.Now(), deed{
		what: string(what), object: p.req.String(), child: id.String(),
		rule: d.Child.Rule.Name, kind: id.GVK.Kind, why: why,
	})
}

// told logs what was done to an object that is known by its name alone.
func (e *Engine) told(what Action, primary Request, child, rule string, k Kind, why string) {
	e.activity.tell(e.clock.Now(), deed{what: string(what), object: primary.String(), child: child, rule: rule, kind: k.GVK.Kind, why: why})
}

// whyMissing says why an object is created.
func (p *pass) whyMissing(w *written) string {
	switch {
	case w.replaced:
		return whyReplaced
	case w.uid != "":
		return whyGone
	}
	return p.trigger
}

// repaired tells people that somebody else's change was undone.
func (p *pass) repaired(d *rules.Desired, by culprit) {
	id := d.Identity
	p.did(Configured, d, "drift: "+by.String())
	p.engine.events.normal(p.self, reasonRepaired, fmt.Sprintf("restored %s: %s", id, by))
}
