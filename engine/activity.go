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

// Triggers of an action, as they appear in the log.
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

// A deed is one log entry about an action.
type deed struct {
	what   string // created, configured, replaced, adopted, deleted, synced
	object string // the primary
	child  string // Kind/namespace/name; empty if the action is on the primary
	rule   string
	kind   string // of the object
	why    string
}

// An activity is the log of actions. At a low rate each action is one log line.
// Under load actions are counted instead, and a summary is logged every
// sumInterval: a reader cannot use ten thousand lines.
type activity struct {
	log *slog.Logger

	mu      sync.Mutex
	room    float64   // lines that may be logged now
	at      time.Time // when room was last updated
	counted map[deed]int
}

const (
	mostLines    = 100 // burst
	linesASecond = 5
	sumInterval  = 10 * time.Second
)

func newActivity(log *slog.Logger) *activity {
	return &activity{log: log, room: mostLines, counted: map[deed]int{}}
}

// tell logs a deed, or counts it if the rate is too high.
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

// write logs one deed. The log handler omits empty values.
func (a *activity) write(d deed) {
	//nolint:sloglint // One of the constants that a deed names.
	a.log.Info(d.what, "object", d.object, "child", d.child, "rule", d.rule, "trigger", d.why)
}

// run logs the counted deeds every sumInterval until ctx ends, and once more then.
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

// flush logs the counts, the largest first.
func (a *activity) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
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

// did logs an action on a child.
func (p *pass) did(what Action, d *rules.Desired, why string) {
	p.engine.logAction(what, p.req, d.Identity, d.Child.Rule.Name, why)
}

// logAction logs an action on an object of a rule.
func (e *Engine) logAction(what Action, primary Request, id rules.Identity, rule, why string) {
	e.activity.tell(e.clock.Now(), deed{what: string(what), object: primary.String(), child: id.String(), rule: rule, kind: id.GVK.Kind, why: why})
}

// whyMissing returns the trigger of a creation.
func (p *pass) whyMissing(w *written) string {
	switch {
	case w.replaced:
		return whyReplaced
	case w.uid != "":
		return whyGone
	}
	return p.trigger
}

// repaired reports that reconcel undid the change of another writer.
func (p *pass) repaired(d *rules.Desired, by culprit) {
	id := d.Identity
	p.did(Configured, d, "drift: "+by.String())
	p.engine.events.normal(p.self, reasonRepaired, fmt.Sprintf("restored %s: %s", id, by))
}
