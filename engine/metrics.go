package engine

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// metrics are the metrics of the engine. No label has the name of an object,
// so the number of series does not grow with the objects.
type metrics struct {
	reconciles *prometheus.CounterVec
	duration   prometheus.Histogram
	writes     *prometheus.CounterVec
	idle       *prometheus.CounterVec
	errors     *prometheus.CounterVec
	panics     prometheus.Counter
	leader     prometheus.Gauge
	removing   prometheus.Gauge

	meters map[ruleOf]*meter // of the rules of the last plan
	inWork atomic.Int64      // requests in progress
}

func newMetrics(r prometheus.Registerer, queueLength func() int) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		reconciles: counter("reconcel_reconciles_total", "Reconciliations of primary objects, by kind and result (ok, retry).", "kind", "result"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reconcel_reconcile_duration_seconds", Help: "Duration of one reconciliation of a primary object.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 11),
		}),
		writes: counter("reconcel_writes_total",
			"Writes accepted by the API server, by verb (apply, status, delete, patch) and kind.", "verb", "kind"),
		idle: counter("reconcel_noop_writes_total", "Applies of children that changed nothing, by kind.", "kind"),
		errors: counter("reconcel_reconcile_errors_total",
			"Errors of reconciliation, by reason (Stale, Conflict, ErrResourceExists, Contested, Forbidden, Rejected, Retrying).", "reason"),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reconcel_panics_total", Help: "Panics recovered during reconciliation.",
		}),
	}
	m.leader = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reconcel_leader", Help: "Whether this process is the leader (1) or a standby (0).",
	})
	m.removing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reconcel_rules_pending_removal", Help: "Removed rules with onRuleRemoval: delete whose objects are not all deleted yet.",
	})
	length := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reconcel_queue_length", Help: "Primary objects that wait for reconciliation.",
	}, func() float64 { return float64(queueLength()) })
	r.MustRegister(m.reconciles, m.duration, m.errors, m.panics, m.leader, m.removing, length)
	return m
}

func (m *metrics) wrote(verb string, k Kind) { m.writes.WithLabelValues(verb, k.GVK.Kind).Inc() }

func (m *metrics) countError(reason string) { m.errors.WithLabelValues(reason).Inc() }

func (m *metrics) reconciled(gk schema.GroupKind, err error, took time.Duration) {
	result := "ok"
	if err != nil {
		result = "retry"
	}
	m.reconciles.WithLabelValues(gk.String(), result).Inc()
	m.duration.Observe(took.Seconds())
}
