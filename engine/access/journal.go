package access

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/events"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Journal logs what a reconciliation does, and records Events about it.
type Journal struct {
	*Subject
	View *View
}

// Did logs what was done to an object, and why.
func (j *Journal) Did(what outcome.Action, d *rules.Desired, why string) {
	j.Cluster.LogAction(what, j.Req, d.Identity, d.Child.Rule.Name, why)
}

// WhyMissing returns the trigger of a creation.
func (j *Journal) WhyMissing(w *Written) string {
	switch {
	case w.Replaced:
		return decide.WhyReplaced
	case w.Existed():
		return decide.WhyGone
	}
	return j.Trigger
}

// Repaired reports that reconcel undid the change of another writer.
func (j *Journal) Repaired(d *rules.Desired, by outcome.Culprit) {
	id := d.Identity
	j.Did(outcome.Configured, d, "drift: "+by.String())
	j.Events.Normal(j.Self, outcome.ReasonRepaired, fmt.Sprintf("restored %s: %s", id, by))
}

// Pruned reports a deletion in the log and as an Event, with the cause.
func (j *Journal) Pruned(rule *rules.Rule, k ident.Kind, o *watch.Object) {
	why := j.whyPruned(rule.Name)
	id := o.Identity(k.GVK)
	j.Cluster.LogAction(outcome.Deleted, j.Req, id, rule.Name, why)
	j.Events.Normal(j.Self, outcome.ReasonPruned, "deleted "+id.String()+": "+why)
}

func (j *Journal) whyPruned(rule string) string {
	for i := range j.View.Rendering.Rules {
		switch r := &j.View.Rendering.Rules[i]; {
		case r.Rule.Name != rule:
		case j.View.Manages(r):
			return decide.WhyUnrendered
		default:
			return decide.WhyDeselected
		}
	}
	return decide.WhyRuleGone
}

// TellState records an Event about a state that a condition shows, if the kind has
// conditions.
func (j *Journal) TellState(reason, note string) {
	list, known := j.Cache.Conditions()
	if shown := known && list != discover.NoConditions; !shown || j.Options.Events == EventsAll {
		j.Events.Normal(j.Self, reason, note)
	}
}

// A LogEntry is one action to log.
type LogEntry struct {
	What   string // created, configured, replaced, adopted, deleted, synced; or that with (dry run)
	Object string // the primary
	Child  string // Kind/namespace/name; empty if the action is on the primary
	rule   string
	Kind   string // of the object
	why    string
}

const (
	mostLines    = 100 // burst
	linesASecond = 5
	sumInterval  = 10 * time.Second
)

// LogAction logs what was done to an object of a primary, and why.
func (c *Cluster) LogAction(what outcome.Action, primary ident.Request, id rules.Identity, rule, why string) {
	c.LogActivity(LogEntry{What: string(what), Object: primary.String(), Child: id.String(), rule: rule, Kind: id.GVK.Kind,
		why: why})
}

// LogActivity logs what happened to a primary or its children. In a dry run nothing happened: it logs what it
// would write.
func (c *Cluster) LogActivity(entry LogEntry) {
	if c.DryRun == nil {
		c.Activity.Record(c.Clock.Now(), entry)
	}
}

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

// An EventRecorder records Events about objects. The note has at most events.LongestNote bytes.
type EventRecorder interface {
	Record(about corev1.ObjectReference, eventType, reason, action, note string)
}

// An EventFilter says which Events are sent. Warnings are always sent.
type EventFilter string

// The filters.
const (
	// EventsChanges leaves out what a condition says, for kinds that have conditions.
	EventsChanges EventFilter = "changes"
	// EventsAll leaves out nothing.
	EventsAll EventFilter = "all"
	// EventsWarnings leaves out everything but Warnings.
	EventsWarnings EventFilter = "warnings"
)

// warningsOnly discards Normal Events.
type warningsOnly struct{ EventRecorder }

// Record implements EventRecorder.
func (w warningsOnly) Record(about corev1.ObjectReference, eventType, reason, action, note string) {
	if eventType != corev1.EventTypeNormal {
		w.EventRecorder.Record(about, eventType, reason, action, note)
	}
}

// Of returns a recorder that sends what the filter passes to the next one.
func (f EventFilter) Of(next EventRecorder) EventRecorder {
	if f == EventsWarnings {
		return warningsOnly{next}
	}
	return next
}

// A Recorder records Events about primaries.
type Recorder struct{ EventRecorder }

// Normal records an Event that reports no trouble.
func (r Recorder) Normal(about *watch.Object, reason, note string) {
	r.event(about, corev1.EventTypeNormal, reason, note)
}

// Warning records an Event that reports trouble.
func (r Recorder) Warning(about *watch.Object, reason, note string) {
	r.event(about, corev1.EventTypeWarning, reason, note)
}

func (r Recorder) event(about *watch.Object, eventType, reason, note string) {
	r.Record(reference(about), eventType, bounded(reason, events.LongestReason), "Reconcile",
		bounded(note, events.LongestNote))
}

// ReportRules records a Warning about rules. It is about the ConfigMap of the inventory,
// because rules are no objects.
func (c *Cluster) ReportRules(reason, action, note string) {
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: c.Options.Namespace,
		Name: inventory.Name(c.Options.Name)}
	c.Events.Record(about, corev1.EventTypeWarning, reason, action, bounded(note, events.LongestNote))
}

// bounded truncates a text that is too long for the API server, to most bytes.
func bounded(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "")
	}
	return text
}

func reference(o *watch.Object) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}
}
