package access

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// An Activity is the log of actions. At a low rate each action is one log line.
// Under load actions are counted instead, and a summary is logged every
// sumInterval: a reader cannot use ten thousand lines.
type Activity struct {
	log *slog.Logger

	mu      sync.Mutex
	room    float64   // lines that may be logged now
	at      time.Time // when room was last updated
	counted map[LogEntry]int
}

// Record logs an entry, or counts it if the rate is too high.
func (a *Activity) Record(now time.Time, entry LogEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.room = min(mostLines, a.room+linesASecond*max(0, now.Sub(a.at).Seconds()))
	a.at = now
	if a.room >= 1 {
		a.room--
		a.write(entry)
		return
	}
	entry.Object, entry.Child = "", ""
	a.counted[entry]++
}

// write logs one entry. The log handler omits empty values.
func (a *Activity) write(entry LogEntry) {
	//nolint:sloglint // One of the constants that LogEntry lists.
	a.log.Info(entry.What, "object", entry.Object, "child", entry.Child, "rule", entry.rule, "trigger", entry.why)
}

// Run logs the counted entries every sumInterval until ctx ends, and once more then.
func (a *Activity) Run(ctx context.Context) {
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
func (a *Activity) flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]LogEntry, 0, len(a.counted))
	for d := range a.counted {
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y LogEntry) int {
		return cmp.Or(a.counted[y]-a.counted[x], cmp.Compare(x.What, y.What), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.rule, y.rule), cmp.Compare(x.why, y.why))
	})
	const most = 20
	for i, d := range all {
		if i == most {
			a.log.Info("activity summary is incomplete", "omitted", len(all)-most)
			break
		}
		a.log.Info("activity summary", "action", d.What, "count", a.counted[d], "kind", d.Kind, "rule", d.rule,
			"trigger", d.why)
	}
	clear(a.counted)
}

// NewActivity returns a limited log of actions.
func NewActivity(log *slog.Logger) *Activity {
	return &Activity{log: log, room: mostLines, counted: map[LogEntry]int{}}
}
