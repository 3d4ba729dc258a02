//go:build integration

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// onEvent are metrics that a process serves only after something rare has happened.
var onEvent = []string{"reconcel_noop_writes_total"}

// checkMetrics compares the metrics that a process serves with the recorded ones, and
// expects each one that an alert or the dashboard uses.
func checkMetrics(t *testing.T, served []byte) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(served))
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string][]string
	data, err := os.ReadFile("../deploy/testdata/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	for name, family := range families {
		want, known := recorded[name]
		if !known {
			continue
		}
		var labels []string
		for _, l := range family.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		if !slices.Equal(labels, want) {
			t.Errorf("%s: it has the labels %q, recorded are %q", name, labels, want)
		}
	}
	part := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, file := range []string{"../deploy/alerts.yaml", "../deploy/dashboard.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`\b(reconcel|rest_client)_[a-z_]+`).FindAllString(string(text), -1)
		if len(used) < 10 {
			t.Errorf("%s uses only %d metrics", file, len(used))
		}
		for _, name := range used {
			if families[name] == nil && families[part.ReplaceAllString(name, "")] == nil && !slices.Contains(onEvent, name) {
				t.Errorf("%s: the process does not serve %s", file, name)
			}
		}
	}
}
