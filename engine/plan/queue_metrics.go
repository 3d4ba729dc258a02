package plan

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

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
