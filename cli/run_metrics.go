package cli

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

// newMetrics returns a registry with the metrics of the process. The engine adds
// its own.
func newMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	requests := requestCounter{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Requests to the API server, by method and status code.",
	}, []string{"code", "method"})}
	r.MustRegister(requests, collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	clientmetrics.Register(clientmetrics.RegisterOpts{RequestResult: requests})
	return r
}

// requestCounter counts the requests of the client library. The metric has the
// same name in every Kubernetes controller.
type requestCounter struct{ *prometheus.CounterVec }

// Increment counts one request.
func (c requestCounter) Increment(_ context.Context, code, method, _ string) {
	c.WithLabelValues(code, method).Inc()
}
