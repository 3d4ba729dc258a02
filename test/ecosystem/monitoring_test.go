package ecosystem

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	queries "github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// targetLabels are the labels that Prometheus adds to the series of a process.
var targetLabels = []string{"job", "instance", "namespace", "pod"}

// TestAlertsAreSound reads the alerts as promtool check rules does.
func TestAlertsAreSound(t *testing.T) {
	groups, errs := rulefmt.ParseFile("../../deploy/alerts.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	rules := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			rules++
			checkQuery(t, r.Alert, r.Expr)
		}
	}
	if rules < 10 {
		t.Errorf("only %d alerts", rules)
	}
}

// TestDashboardIsSound reads the dashboard strictly as Grafana's library does, and its
// queries as Prometheus does.
func TestDashboardIsSound(t *testing.T) {
	cog.NewRuntime().RegisterPanelcfgVariant(timeseries.VariantConfig())
	cog.NewRuntime().RegisterPanelcfgVariant(stat.VariantConfig())
	cog.NewRuntime().RegisterDataqueryVariant(queries.VariantConfig())
	text := readFile(t, "../../deploy/dashboard.json")
	var d dashboard.Dashboard //nolint:staticcheck // every Grafana imports this format, and only new ones the next
	// Without mistakes, it returns an empty list of errors that is not nil.
	if err := d.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		t.Fatal(err)
	}
	var content struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range content.Panels {
		if ids[p.ID] || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d: %+v", p.ID, p)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			checkQuery(t, p.Title, strings.NewReplacer("$__rate_interval", "5m", "$job", "reconcel").Replace(target.Expr))
		}
	}
	if len(ids) < 10 {
		t.Errorf("only %d panels", len(ids))
	}
}

var histogramPart = regexp.MustCompile(`_(bucket|sum|count)$`)

// checkQuery expects each series and label of a query to be one of reconcel.
func checkQuery(t *testing.T, name, query string) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	metrics := recordedMetrics(t)
	var known []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		labels, exists := metrics[selector.Name]
		if base := histogramPart.ReplaceAllString(selector.Name, ""); !exists && base != selector.Name {
			labels, exists = metrics[base]
			labels = append(slices.Clone(labels), "le")
		}
		if !exists {
			t.Errorf("%s: there is no metric %s", name, selector.Name)
		}
		known = slices.Concat(known, labels, targetLabels)
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel && !slices.Contains(labels, m.Name) && !slices.Contains(targetLabels, m.Name) {
				t.Errorf("%s: %s has no label %s", name, selector.Name, m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if by, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range by.Grouping {
				if !slices.Contains(known, label) {
					t.Errorf("%s: no metric has the label %s", name, label)
				}
			}
		}
		return nil
	})
}

// recordedMetrics returns the labels of the metrics of a process, which a test of cli
// records and compares with those that a process serves.
func recordedMetrics(t *testing.T) (all map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/testdata/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
