package scaffold

import (
	"strings"
	"testing"
)

// TestChart makes rules of what a chart renders: nothing of Helm is left but a label that a
// selector needs, and the replicas belong to the autoscaler.
func TestChart(t *testing.T) {
	p, err := made(t, "testdata/chart.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.Files[0].Data)
	_, rules, _ := strings.Cut(text, "\napiVersion:")
	for _, other := range []string{"Helm", "meta.helm.sh", "checksum/config", "annotations"} {
		if strings.Contains(rules, other) {
			t.Errorf("the rules have %s:\n%s", other, rules)
		}
	}
	for _, want := range []string{"helm.sh/chart: web-1.2.3", "ignoreFields:\n    - spec.replicas\n", "replicas: 3"} {
		if !strings.Contains(rules, want) {
			t.Errorf("the rules lack %q:\n%s", want, rules)
		}
	}
	if strings.Contains(rules, "self.spec.replicas") {
		t.Errorf("replicas are a field, although the autoscaler decides them:\n%s", rules)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{"checksum/config: left out", "Deployment/web: spec.replicas is in ignoreFields"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
}
