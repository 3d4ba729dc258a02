package shadow

import "github.com/prometheus/client_golang/prometheus"

var (
	endedDesc = prometheus.NewDesc("reconcel_shadow_changes_total",
		"Changes that a shadow wanted, by action, kind and result (agreed, withdrawn).", []string{"action", "kind", "result"}, nil)
	outstandingDesc = prometheus.NewDesc("reconcel_shadow_outstanding",
		"Changes that a shadow wants and that the cluster does not show, by action and kind.", []string{"action", "kind"}, nil)
	differingDesc = prometheus.NewDesc("reconcel_shadow_differing",
		"Outstanding changes of parts of objects that the other controller wrote differently, by action and kind.", []string{"action", "kind"}, nil)
)

// Describe implements prometheus.Collector.
func (l *Ledger) Describe(out chan<- *prometheus.Desc) {
	out <- endedDesc
	out <- outstandingDesc
	out <- differingDesc
}

// Collect implements prometheus.Collector.
func (l *Ledger) Collect(out chan<- prometheus.Metric) {
	for _, line := range l.Report().Changes {
		action := string(line.Action)
		out <- prometheus.MustNewConstMetric(endedDesc, prometheus.CounterValue, float64(line.Agreed), action, line.Kind, "agreed")
		out <- prometheus.MustNewConstMetric(endedDesc, prometheus.CounterValue, float64(line.Withdrawn), action, line.Kind, "withdrawn")
		out <- prometheus.MustNewConstMetric(outstandingDesc, prometheus.GaugeValue, float64(line.Outstanding), action, line.Kind)
		out <- prometheus.MustNewConstMetric(differingDesc, prometheus.GaugeValue, float64(line.Differing), action, line.Kind)
	}
}
