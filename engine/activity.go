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
	whySchema     = "schema changed"
	whyGate       = "gate opened"
	whyGenerated  = "generated values"
	whyTakenOver  = "taken over from another installation"
	whyUnrendered = "no longer rendered"
	whyEnded      = "resource deleted"
	whyOrphaned   = "resource deleted with --cascade=orphan"
	whyShared     = "others share it"
	whyDeselected = "resource no longer matches"
)

// A logEntry is one action to log.
type logEntry struct {
	what   string // created, configured, replaced, adopted, deleted, synced; or that with (dry run)
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
	counted map[logEntry]int
}

const (
	mostLines    = 100 // burst
	linesASecond = 5
	sumInterval  = 10 * time.Second
)

func newActivity(log *slog.Logger) *activity {
	return &activity{log: log, room: mostLines, counted: map[logEntry]int{}}
}

// record logs an entry, or counts it if the rate is too high.
func (a *activity) record(now time.Time, entry logEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.room = min(mostLines, a.room+linesASecond*max(0, now.Sub(a.at).Seconds()))
	a.at = now
	if a.room >= 1 {
		a.room--
		a.write(entry)
		return
	}
	entry.object, entry.child = "", ""
	a.counted[entry]++
}

// write logs one entry. The log handler omits empty values.
func (a *activity) write(entry logEntry) {
	//nolint:sloglint // One of the constants that logEntry lists.
	a.log.Info(entry.what, "object", entry.object, "child", entry.child, "rule", entry.rule, "trigger", entry.why)
}

// run logs the counted entries every sumInterval until ctx ends, and once more then.
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
	all := make([]logEntry, 0, len(a.counted))
	for d := range a.counted {
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y logEntry) int {
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

func (p *pass) did(what Action, d *rules.Desired, why string) {
	p.engine.logAction(what, p.req, d.Identity, d.Child.Rule.Name, why)
}

func (e *Engine) logAction(what Action, primary Request, id rules.Identity, rule, why string) {
	e.logActivity(logEntry{what: string(what), object: primary.String(), child: id.String(), rule: rule, kind: id.GVK.Kind, why: why})
}

// logActivity logs what happened to a primary or its children. In a dry run nothing happened: it logs what it
// would write.
func (e *Engine) logActivity(entry logEntry) {
	if e.dryRun == nil {
		e.activity.record(e.clock.Now(), entry)
	}
}

// whyMissing returns the trigger of a creation.
func (p *pass) whyMissing(w *written) string {
	switch {
	case w.replaced:
		return whyReplaced
	case w.existed():
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
