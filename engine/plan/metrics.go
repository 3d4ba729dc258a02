package plan

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Metrics are the metrics of the engine. No label has the name of an object,
// so the number of series does not grow with the objects.
type Metrics struct {
	reconciles *prometheus.CounterVec
	duration   prometheus.Histogram
	Writes     *prometheus.CounterVec
	Idle       *prometheus.CounterVec
	errors     *prometheus.CounterVec
	Panics     prometheus.Counter
	Leader     prometheus.Gauge
	Removing   prometheus.Gauge

	meters map[RuleOf]*meter // of the rules of the last plan
	InWork atomic.Int64      // requests in progress
}

// NewMetrics returns the metrics of an engine, registered.
func NewMetrics(r prometheus.Registerer, queueLength func() int) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		reconciles: counter("reconcel_reconciles_total",
			"Reconciliations of primary objects, by kind and result (ok, retry).", "kind", "result"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reconcel_reconcile_duration_seconds", Help: "Duration of one reconciliation of a primary object.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 11),
		}),
		Writes: counter("reconcel_writes_total",
			"Writes accepted by the API server, by verb (apply, status, delete, patch) and kind.", "verb", "kind"),
		Idle: counter("reconcel_noop_writes_total", "Applies of children that changed nothing, by kind.", "kind"),
		errors: counter("reconcel_reconcile_errors_total",
			"Errors of reconciliation, by reason (Stale, Conflict, ErrResourceExists, Contested, Forbidden, Rejected, "+
				"Retrying).", "reason"),
		Panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reconcel_panics_total", Help: "Panics recovered during reconciliation.",
		}),
	}
	m.Leader = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reconcel_leader", Help: "Whether this process is the leader (1) or a standby (0).",
	})
	m.Removing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reconcel_rules_pending_removal",
		Help: "Removed rules with onRuleRemoval: delete whose objects are not all deleted yet.",
	})
	length := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reconcel_queue_length", Help: "Primary objects that wait for reconciliation.",
	}, func() float64 { return float64(queueLength()) })
	r.MustRegister(m.reconciles, m.duration, m.errors, m.Panics, m.Leader, m.Removing, length)
	return m
}

// Wrote counts a write that the API server has accepted.
func (m *Metrics) Wrote(verb string, k ident.Kind) { m.Writes.WithLabelValues(verb, k.GVK.Kind).Inc() }

// CountError counts a failed request by its reason.
func (m *Metrics) CountError(reason string) { m.errors.WithLabelValues(reason).Inc() }

// Reconciled counts a reconciliation, and how long it took.
func (m *Metrics) Reconciled(gk schema.GroupKind, err error, took time.Duration) {
	result := "ok"
	if err != nil {
		result = "retry"
	}
	m.reconciles.WithLabelValues(gk.String(), result).Inc()
	m.duration.Observe(took.Seconds())
}

// A meter has the metrics of one rule for one kind. It survives reloads as long as each
// plan has a rule with the same name for the kind.
type meter struct {
	*tally
	primaries [outcome.States]atomic.Int64 // by state after the last reconciliation
	children  atomic.Int64                 // objects that the rule rendered
}

// A tally has the counters of all rules of one name. They never decrease: it survives a
// kind that leaves the rule.
type tally struct {
	Reconciles [outcome.States]atomic.Int64 // reconciliations, by resulting state
	Took       atomic.Int64                 // nanoseconds, in all reconciliations
}

// A Share is the contribution of one primary to the meter of one rule. The zero
// value adds nothing.
type Share struct {
	Of       *meter // nil: the rule does not match the primary
	State    outcome.State
	Children int
}

// Set replaces the share s in its meter.
func (s *Share) Set(now Share) {
	if *s == now {
		return
	}
	s.add(-1)
	*s = now
	s.add(1)
}

func (s *Share) add(sign int64) {
	if s.Of != nil {
		s.Of.primaries[s.State].Add(sign)
		s.Of.children.Add(sign * int64(s.Children))
	}
}

// Meter gives each rule of a plan its meter, and reuses the meter of the last
// plan's rule with the same name.
func (m *Metrics) Meter(pl *Plan) {
	before, tallies := m.meters, map[string]*tally{}
	for of, old := range before {
		tallies[of.Name] = old.tally
	}
	m.meters = map[RuleOf]*meter{}
	for kind, pk := range pl.Primaries {
		pk.Meters = make([]*meter, len(pk.Rules))
		for i, r := range pk.Rules {
			of := RuleOf{r.Name, kind}
			if tallies[r.Name] == nil {
				tallies[r.Name] = &tally{}
			}
			if m.meters[of] = before[of]; m.meters[of] == nil {
				m.meters[of] = &meter{tally: tallies[r.Name]}
			}
			pk.Meters[i] = m.meters[of]
		}
		if pk.Next != nil {
			pk.Next.Meters = pk.Meters
		}
	}
}

// CountRendered returns the number of objects that a rule renders.
func CountRendered(r *rules.RuleResult) (n int) {
	for i := range r.Children {
		n += len(r.Children[i].Objects)
	}
	return n
}

// A RuleInspection is the state of one rule.
type RuleInspection struct {
	Name      string         `json:"name"`
	Position  string         `json:"position"`
	Primary   string         `json:"for"`                            // kind, as group/version/Kind
	Primaries map[string]int `json:"primaries"`                      // number of primaries by state
	Children  int            `json:"children"`                       // number of rendered children
	Conflict  string         `json:"installationConflict,omitempty"` // why the rule is inactive

	Held      string             `json:"held,omitempty"`      // what its next version would delete, and how to approve that
	Rollout   *inventory.Rollout `json:"rollout,omitempty"`   // of its next version
	Forbidden []string           `json:"forbidden,omitempty"` // the lists that it needs and that are not permitted
}

// Inspect adds what the rule has and does to the description of a rule.
func (m *meter) Inspect(r RuleInspection) RuleInspection {
	r.Children = int(m.children.Load())
	r.Primaries = map[string]int{}
	for s := range outcome.States {
		if n := int(m.primaries[s].Load()); n > 0 {
			r.Primaries[s.String()] = n
		}
	}
	return r
}

// QueueMetrics measures how long requests wait and how long the oldest running
// reconciliation takes. The queue's other metrics are discarded, because the
// engine has its own.
type QueueMetrics struct {
	wait    prometheus.Histogram
	longest prometheus.Gauge
}

// NewQueueMetrics returns the metrics of the queue, registered.
func NewQueueMetrics(r prometheus.Registerer) QueueMetrics {
	m := QueueMetrics{
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reconcel_queue_wait_duration_seconds", Help: "Time that a primary object waited in the queue.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 10, 8),
		}),
		longest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reconcel_longest_running_reconcile_seconds", Help: "Age of the oldest reconciliation that is still running.",
		}),
	}
	r.MustRegister(m.wait, m.longest)
	return m
}

// unasked discards measurements.
type unasked struct{}

func (unasked) Inc() {}

func (unasked) Dec() {}

func (unasked) Set(float64) {}

func (unasked) Observe(float64) {}

// NewDepthMetric implements workqueue.MetricsProvider.
func (QueueMetrics) NewDepthMetric(string) workqueue.GaugeMetric { return unasked{} }

// NewAddsMetric implements workqueue.MetricsProvider.
func (QueueMetrics) NewAddsMetric(string) workqueue.CounterMetric { return unasked{} }

// NewLatencyMetric implements workqueue.MetricsProvider. The latency is the time
// between a request's entry into the queue and its start.
func (m QueueMetrics) NewLatencyMetric(string) workqueue.HistogramMetric { return m.wait }

// NewWorkDurationMetric implements workqueue.MetricsProvider.
func (QueueMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric { return unasked{} }

// NewUnfinishedWorkSecondsMetric implements workqueue.MetricsProvider.
func (QueueMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unasked{}
}

// NewLongestRunningProcessorSecondsMetric implements workqueue.MetricsProvider.
func (m QueueMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return m.longest
}

// NewRetriesMetric implements workqueue.MetricsProvider.
func (QueueMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return unasked{} }

// A Census collects the metrics of the active plan's rules and watches. Series
// of an earlier plan disappear with it.
type Census struct{ Plan func() *Plan }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	ruleReconciles = describe("reconcel_rule_reconciles_total",
		"Reconciliations of a rule for one of its primary objects, by rule and resulting state.", "rule", "state")
	ruleSeconds = describe("reconcel_rule_reconcile_seconds_total",
		"Time spent on the reconciliation of a rule, requests to the API server included, by rule.", "rule")
	rulePrimaries = describe("reconcel_rule_primaries",
		"Primary objects of a rule, by rule and state after the last reconciliation.", "rule", "state")
	ruleChildren = describe("reconcel_rule_children", "Objects that a rule renders for all its primary objects.", "rule")
	ruleHeld     = describe("reconcel_rule_held",
		"Whether a changed version of a rule is held (1) because it would delete too many objects, by rule.", "rule")
	ruleRefused = describe("reconcel_rule_installation_conflict",
		"Whether a rule is inactive (1) because its objects belong to another installation, by rule.", "rule")
	rolloutStopped = describe("reconcel_rollout_stopped",
		"Whether the rollout of changed rules is stopped (1), because it is paused, undone or has failed, by kind.", "kind")
	watchSynced = describe("reconcel_watch_synced",
		"Whether the cache of a kind is synced (1) or not (0), by kind and role.", "kind", "role")
	watchObjects = describe("reconcel_watch_objects", "Objects in the cache, by kind and role.", "kind", "role")
)

// Describe implements prometheus.Collector.
func (c Census) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ruleReconciles, ruleSeconds, rulePrimaries, ruleChildren, ruleHeld, ruleRefused,
		rolloutStopped, watchSynced, watchObjects} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c Census) Collect(to chan<- prometheus.Metric) {
	pl := c.Plan()
	if pl == nil {
		return // There is no plan yet.
	}
	for rule, total := range pl.ruleTotals() {
		total.collect(rule, to)
	}
	for kind := range pl.Primaries {
		stopped := 0
		if ro := pl.Rollouts[kind]; ro != nil && ro.State().Stopped(kind.String(), "") != "" {
			stopped = 1
		}
		to <- gauge(rolloutStopped, stopped, kind.String())
	}
	for key, total := range pl.Totals() {
		to <- gauge(watchSynced, total.synced, key.kind, key.role.String())
		to <- gauge(watchObjects, total.objects, key.kind, key.role.String())
	}
}

// A ruleTotal sums the meters of a rule over its kinds.
type ruleTotal struct {
	*tally
	primaries         [outcome.States]int64
	children, refused int64
	held              int64
}

func (pl *Plan) ruleTotals() map[string]*ruleTotal {
	all := map[string]*ruleTotal{}
	for _, pk := range pl.Primaries {
		for i, r := range pk.Rules {
			m := pk.Meters[i]
			if all[r.Name] == nil {
				all[r.Name] = &ruleTotal{tally: m.tally}
			}
			total := all[r.Name]
			for s := range outcome.States {
				total.primaries[s] += m.primaries[s].Load()
			}
			total.children += m.children.Load()
			if pl.Admitted.Load().Refuses(r) {
				total.refused = 1
			}
			if _, held := pl.Holds[RuleOf{r.Name, pk.GVK.GroupKind()}]; held {
				total.held = 1
			}
		}
	}
	return all
}

func (m *ruleTotal) collect(rule string, to chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	for s := range outcome.States {
		counter(ruleReconciles, float64(m.Reconciles[s].Load()), rule, s.String())
		to <- gauge(rulePrimaries, m.primaries[s], rule, s.String())
	}
	counter(ruleSeconds, float64(m.Took.Load())/1e9, rule)
	to <- gauge(ruleChildren, m.children, rule)
	to <- gauge(ruleHeld, m.held, rule)
	to <- gauge(ruleRefused, m.refused, rule)
}

func gauge[N int | int64](d *prometheus.Desc, value N, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
}

// A WatchedKind is a kind in one role. It may have several watches with
// different selectors.
type WatchedKind struct {
	kind string
	role watch.Role
}

// A WatchTotal counts the watches of a kind that are synced, and their objects.
type WatchTotal struct{ synced, objects int }

// Totals sums the watches by kind and role. A kind is synced when all its
// watches are.
func (pl *Plan) Totals() map[WatchedKind]WatchTotal {
	all := map[WatchedKind]WatchTotal{}
	for _, w := range pl.Watches {
		key := WatchedKind{w.GVK.GroupKind().String(), w.Role}
		total, known := all[key]
		if !known {
			total.synced = 1
		}
		for _, s := range w.States() {
			total.objects += s.Objects
			if !s.Synced {
				total.synced = 0
			}
		}
		all[key] = total
	}
	return all
}
