package cli

import (
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/rulewatch"
	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/rules"
)

// metricLabels returns the labels of all metrics of `run`, by metric name.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	registry := newMetrics()
	rulewatch.NewMetrics(registry)
	registry.MustRegister(change.NewUnsent())
	options := access.Options{Config: &rest.Config{Host: "https://127.0.0.1"}, Log: slog.New(slog.DiscardHandler), Metrics: registry}
	if _, err := engine.New(options, &rules.Program{}); err != nil {
		t.Fatal(err)
	}
	described := make(chan *prometheus.Desc)
	go func() {
		defer close(described)
		registry.Describe(described)
	}()
	labels := map[string][]string{}
	for d := range described {
		parts := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`).FindStringSubmatch(d.String())
		if parts == nil {
			t.Errorf("no name and labels in %s", d)
			continue
		}
		labels[parts[1]] = strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' })
	}
	return labels
}

func metricNames(t *testing.T) []string { return slices.Collect(maps.Keys(metricLabels(t))) }

var metricName = regexp.MustCompile(`\b(reconcel|rest_client)_[a-z_]+`)

// TestMetricsAreNamedRight compares the metric names in the alerts and the documents with
// the metrics of `run`, and expects each metric in the documents.
func TestMetricsAreNamedRight(t *testing.T) {
	names := metricNames(t)
	read := func(file string) string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	monitoring := read("../docs/reference/monitoring.md")
	for file, text := range map[string]string{
		"alerts.yaml": read("../deploy/alerts.yaml"), "monitoring.md": monitoring, "reconciliation.md": read("../docs/reference/reconciliation.md"),
	} {
		for _, name := range metricName.FindAllString(text, -1) {
			if !slices.Contains(names, name) {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
	documented := metricName.FindAllString(monitoring, -1)
	for _, name := range names {
		if metricName.MatchString(name) && !slices.Contains(documented, name) {
			t.Errorf("docs/reference/monitoring.md does not say what %s is", name)
		}
	}
}

// TestMetricsHaveFewLabels rejects labels that may contain an object's name.
func TestMetricsHaveFewLabels(t *testing.T) {
	bounded := []string{"rule", "state", "kind", "role", "reason", "result", "verb", "action", "hash", "code", "method"}
	for name, labels := range metricLabels(t) {
		for _, label := range labels {
			if !slices.Contains(bounded, label) {
				t.Errorf("%s has the label %s", name, label)
			}
		}
	}
}

// TestReasonsAreExplained expects the document to explain every reason of Events and
// conditions.
func TestReasonsAreExplained(t *testing.T) {
	read := func(file string) string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	reasons := regexp.MustCompile(`(?m)^\s+Reason\w+\s+= "(\w+)"`).FindAllStringSubmatch(read("../engine/outcome/errors.go"), -1)
	if len(reasons) < 15 {
		t.Fatalf("only these reasons were found: %v", reasons)
	}
	table := read("../docs/reference/conditions.md")
	for _, reason := range append(reasons, []string{"", "ChildFailed"}, []string{"", "InvalidSpec"}, []string{"", "RuleError"}, []string{"", "Failed"}) {
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + reason[1] + "`").MatchString(table) {
			t.Errorf("docs/reference/conditions.md does not say what to do about %s", reason[1])
		}
	}
}

// TestAlertsAreExplained expects the document to explain every alert.
func TestAlertsAreExplained(t *testing.T) {
	data, err := os.ReadFile("../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	monitoring, err := os.ReadFile("../docs/reference/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			n++
			if r.Alert == "" || r.Expr == "" || !regexp.MustCompile("`"+r.Alert+"`").Match(monitoring) {
				t.Errorf("alert %q is not explained in docs/reference/monitoring.md", r.Alert)
			}
		}
	}
	if n == 0 {
		t.Error("there are no alerts")
	}
}
