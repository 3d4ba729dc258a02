package engine

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// metrics are what the engine counts. No label carries the name of an object.
type metrics struct {
	reconciles *prometheus.CounterVec
	duration   prometheus.Histogram
	writes     *prometheus.CounterVec
	panics     prometheus.Counter
	leader     prometheus.Gauge
	removing   prometheus.Gauge
}

func newMetrics(r prometheus.Registerer, queueLength func() int) *metrics {
	m := &metrics{
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reconcel_reconciles_total", Help: "Looks at a primary object, by kind and result (ok, retry).",
		}, []string{"kind", "result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "reconcel_reconcile_seconds", Help: "Duration of one look at a primary object.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 11),
		}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reconcel_writes_total", Help: "Writes that the API server accepted, by verb (apply, status, delete, patch) and kind.",
		}, []string{"verb", "kind"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "reconcel_panics_total", Help: "Panics that were recovered while looking at an object.",
		}),
	}
	m.leader = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reconcel_leader", Help: "Whether this process is the one that works (1) or stands by (0).",
	})
	m.removing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "reconcel_removed_rules", Help: "Removed rules with onRuleRemoval: delete of which something is still there.",
	})
	length := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "reconcel_queue_length", Help: "Primary objects that wait for a look.",
	}, func() float64 { return float64(queueLength()) })
	r.MustRegister(m.reconciles, m.duration, m.writes, m.panics, m.leader, m.removing, length)
	return m
}

func (m *metrics) reconciled(gk schema.GroupKind, err error, took time.Duration) {
	result := "ok"
	if err != nil {
		result = "retry"
	}
	m.reconciles.WithLabelValues(gk.String(), result).Inc()
	m.duration.Observe(took.Seconds())
}
