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
	for part, want := range map[string]bool{"\n              conditions:": false, "availableReplicas:": true, "deploymentName:": true} {
		if got := strings.Contains(string(made), part); got != want {
			t.Errorf("it has %q: %t\n%s", part, got, made)
		}
	}
	if _, err := bare(made); err == nil || !strings.Contains(err.Error(), "want conditions") {
		t.Errorf("got %v for a CRD without conditions", err)
	}
}
