package engine

import (
	"github.com/prometheus/client_golang/prometheus"

	"reconcel/engine/watch"
)

// A census collects the metrics of the active plan's rules and watches. Series
// of an earlier plan disappear with it.
type census struct{ plan func() *plan }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	ruleReconciles = describe("reconcel_rule_reconciles_total", "Reconciliations of a rule for one of its primary objects, by rule and resulting state.", "rule", "state")
	ruleSeconds    = describe("reconcel_rule_reconcile_seconds_total", "Time spent on the reconciliation of a rule, requests to the API server included, by rule.", "rule")
	rulePrimaries  = describe("reconcel_rule_primaries", "Primary objects of a rule, by rule and state after the last reconciliation.", "rule", "state")
	ruleChildren   = describe("reconcel_rule_children", "Objects that a rule renders for all its primary objects.", "rule")
	ruleHeld       = describe("reconcel_rule_held", "Whether a changed version of a rule is held (1) because it would delete too many objects, by rule.", "rule")
	ruleRefused    = describe("reconcel_rule_installation_conflict", "Whether a rule is inactive (1) because its objects belong to another installation, by rule.", "rule")
	watchSynced    = describe("reconcel_watch_synced", "Whether the cache of a kind is synced (1) or not (0), by kind and role.", "kind", "role")
	watchObjects   = describe("reconcel_watch_objects", "Objects in the cache, by kind and role.", "kind", "role")
)

func (c census) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ruleReconciles, ruleSeconds, rulePrimaries, ruleChildren, ruleHeld, ruleRefused, watchSynced, watchObjects} {
		to <- d
	}
}

func (c census) Collect(to chan<- prometheus.Metric) {
	pl := c.plan()
	if pl == nil {
		return // There is no plan yet.
	}
	for rule, total := range pl.ruleTotals() {
		total.collect(rule, to)
	}
	for key, total := range pl.totals() {
		to <- gauge(watchSynced, total.synced, key.kind, key.role.String())
		to <- gauge(watchObjects, total.objects, key.kind, key.role.String())
	}
}

// A ruleTotal sums the meters of a rule over its kinds.
type ruleTotal struct {
	*tally
	primaries         [states]int64
	children, refused int64
	held              int64
}

func (pl *plan) ruleTotals() map[string]*ruleTotal {
	all := map[string]*ruleTotal{}
	for _, pk := range pl.primaries {
		for i, r := range pk.Rules {
			m := pk.meters[i]
			if all[r.Name] == nil {
				all[r.Name] = &ruleTotal{tally: m.tally}
			}
			total := all[r.Name]
			for s := range states {
				total.primaries[s] += m.primaries[s].Load()
			}
			total.children += m.children.Load()
			if pl.verdict.Load().refuses(r) {
				total.refused = 1
			}
			if _, held := pl.holds[ruleOf{r.Name, pk.GVK.GroupKind()}]; held {
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
	for s := range states {
		counter(ruleReconciles, float64(m.reconciles[s].Load()), rule, s.String())
		to <- gauge(rulePrimaries, m.primaries[s], rule, s.String())
	}
	counter(ruleSeconds, float64(m.took.Load())/1e9, rule)
	to <- gauge(ruleChildren, m.children, rule)
	to <- gauge(ruleHeld, m.held, rule)
	to <- gauge(ruleRefused, m.refused, rule)
}

func gauge[N int | int64](d *prometheus.Desc, value N, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
}

// A watchedKind is a kind in one role. It may have several watches with
// different selectors.
type watchedKind struct {
	kind string
	role watch.Role
}

type watchTotal struct{ synced, objects int }

// totals sums the watches by kind and role. A kind is synced when all its
// watches are.
func (pl *plan) totals() map[watchedKind]watchTotal {
	all := map[watchedKind]watchTotal{}
	for _, w := range pl.watches {
		key := watchedKind{w.GVK.GroupKind().String(), w.Role}
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
