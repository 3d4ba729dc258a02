package main

import (
	"os"
	"strings"
	"testing"
)

func TestBareCRDHasNoConditions(t *testing.T) {
	text, err := os.ReadFile("../crds/samplecontroller.k8s.io_foos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	made, err := bare(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"availableReplicas:", "deploymentName:"} {
		if !strings.Contains(string(made), part) {
			t.Errorf("it has no %q\n%s", part, made)
		}
	}
	if _, err := bare(made); err == nil || !strings.Contains(err.Error(), "want conditions") {
		t.Errorf("got %v for a CRD without conditions", err)
	}
}
