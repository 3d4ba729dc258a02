package plan

import (
	"github.com/prometheus/client_golang/prometheus"

	"reconcel/engine/outcome"
	"reconcel/engine/watch"
)

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
	watchSynced = describe("reconcel_watch_synced",
		"Whether the cache of a kind is synced (1) or not (0), by kind and role.", "kind", "role")
	watchObjects = describe("reconcel_watch_objects", "Objects in the cache, by kind and role.", "kind", "role")
)

// Describe implements prometheus.Collector.
func (c Census) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ruleReconciles, ruleSeconds, rulePrimaries, ruleChildren, ruleHeld, ruleRefused,
		watchSynced, watchObjects} {
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
