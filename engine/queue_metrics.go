package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// queueMetrics measures how long requests wait and how long the oldest running
// reconciliation takes. The queue's other metrics are discarded, because the
// engine has its own.
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

// unasked discards measurements.
type unasked struct{}

func (unasked) Inc()            {}
func (unasked) Dec()            {}
func (unasked) Set(float64)     {}
func (unasked) Observe(float64) {}

func (queueMetrics) NewDepthMetric(string) workqueue.GaugeMetric { return unasked{} }

func (queueMetrics) NewAddsMetric(string) workqueue.CounterMetric { return unasked{} }

// NewLatencyMetric implements workqueue.MetricsProvider. The latency is the time
// between a request's entry into the queue and its start.
func (m queueMetrics) NewLatencyMetric(string) workqueue.HistogramMetric { return m.wait }

func (queueMetrics) NewWorkDurationMetric(string) workqueue.HistogramMetric { return unasked{} }

func (queueMetrics) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unasked{}
}

func (m queueMetrics) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return m.longest
}

func (queueMetrics) NewRetriesMetric(string) workqueue.CounterMetric { return unasked{} }
