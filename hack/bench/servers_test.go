package main

import (
	"errors"
	"testing"

	"reconcel/test/devcluster"
)

func TestComponent(t *testing.T) {
	for _, args := range [][]string{{"/bin/controlplane", "etcd", "--data-dir=x"}, {"/assets/etcd", "--data-dir=x"}} {
		if got := component(args); got != devcluster.Etcd {
			t.Errorf("%q: got %q", args, got)
		}
	}
}

// TestControlPlaneThatHasEnded has one without processes.
func TestControlPlaneThatHasEnded(t *testing.T) {
	err := load{}.exceeded(&devcluster.Cluster{})
	if reason := overload(""); !errors.As(err, &reason) {
		t.Errorf("got %v, want an overload", err)
	}
}
