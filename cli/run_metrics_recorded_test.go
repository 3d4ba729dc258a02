package cli

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedMetrics has the labels of the metrics of reconcel and of its client. The
// ecosystem module checks queries against it.
const recordedMetrics = "../deploy/testdata/metrics.json"

func TestMetricsAreRecorded(t *testing.T) {
	own := map[string][]string{}
	for name, labels := range metricLabels(t) {
		if metricName.MatchString(name) {
			slices.Sort(labels)
			own[name] = labels
		}
	}
	got, err := json.MarshalIndent(own, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(recordedMetrics, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(recordedMetrics)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("not up to date, run: go test ./cli -run Recorded -update\n-want +got:\n%s", diff)
	}
}
