package main

import (
	"os"
	"strings"
	"testing"
)

func TestStatusOfCRD(t *testing.T) {
	text, err := os.ReadFile("../../crds/samplecontroller.k8s.io_foos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made, err := withStatus(text, bare)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"availableReplicas:", "deploymentName:"} {
		if !strings.Contains(string(made), part) {
			t.Errorf("it has no %q\n%s", part, made)
		}
	}
	if strings.Contains(string(made), "observedGeneration") {
		t.Errorf("it has a field of conditions\n%s", made)
	}
	if _, err := withStatus(made, bare); err == nil || !strings.Contains(err.Error(), "want conditions") {
		t.Errorf("got %v for a CRD without conditions", err)
	}
	if made, err = withStatus(text, generational); err != nil || strings.Count(string(made), "observedGeneration:") != 1 {
		t.Errorf("got %v, and want the generation in the status\n%s", err, made)
	}
}
