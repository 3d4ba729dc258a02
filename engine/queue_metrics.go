package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics tell how long requests wait and are served. What the queue
// would tell besides is counted elsewhere.
type queueMetrics struct {
	wait    prometheus.Histogram
	longest prometheus.Gauge
}

func newQueueMetrics(r prometheus.Registerer) queueMetrics {
	m := queueMetrics{
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

// unasked takes measurements that nobody reads.
type unasked struct{}

func (unasked) Inc()            {}
func (unasked) Dec()            {}
func (unasked) Set(float64)     {}
func (unasked) Observe(float64) {}

// NewDepthMetric implements workqueue.MetricsProvider, as do the others.
func (queueMetrics) NewDepthMetric(string) workqueue.GaugeMetric { return unasked{} }

// NewAddsMetric is for each addition.
func (queueMetrics) NewAddsMetric(string) workqueue.CounterMetric { return unasked{} }

// NewLatencyMetric is for the time from when a request is due to its service.
func (m queueMetrics) NewLatencyMetric(string) workqueue.HistogramMetric { return m.wait }

// NewWorkDurationMetric is for the time of each service.
func (queueMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric { return unasked{} }

// NewUnfinishedWorkSecondsMetric is for the ages of all services under way.
func (queueMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unasked{}
}

// NewLongestRunningProcessorSecondsMetric is for the oldest service under way.
func (m queueMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return m.longest
}

// NewRetriesMetric is for each delayed addition.
func (queueMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return unasked{} }
