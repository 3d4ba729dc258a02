//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/test/devcluster"
)

// TestConvergedMeansConverged has converged Foos and an object of each kind in the drift
// test. Nothing is written while the engine runs, or when another one takes over.
func TestConvergedMeansConverged(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.CRD(widgetCRD)
	var children []string
	for _, v := range variants {
		children = append(children, v.child("rest-"+v.id))
	}
	all := widgetRules("when: self.metadata.name == 'parent'", children...) +
		strings.Replace(fooRules, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n", "", 1)
	in := w.run(all)
	// The Foo comes first: one of the children is a quota that admits no more Pods of the
	// Foo's Deployment.
	w.Create(exampleFoo)
	w.Is(foos, "example", "Ready", "True")
	w.Create(widget("parent", "x: y"))
	w.Eventually("every child to exist", func() error {
		for _, v := range variants {
			if w.Get(v.gvk(t), "rest-"+v.id) == nil {
				return fmt.Errorf("%s does not", v.id)
			}
		}
		return nil
	})
	w.settles()
	w.Silent(30 * time.Second)

	in.stop()
	since := time.Now()
	in = w.run(all)
	w.Silent(10 * time.Second)
	if found := w.Writes(since); len(found) > 0 {
		t.Errorf("%d writes after the restart: %v", len(found), devcluster.Tally(found))
	}
	in.stop()
}

// settles waits until the engine has written nothing for longer than it delays a status
// that still changes. While requests are slow, that is up to 5 seconds.
func (w *world) settles() {
	w.Helper()
	w.Eventually("the engine to come to rest", func() error {
		if found := w.Writes(time.Now().Add(-6 * time.Second)); len(found) > 0 {
			return fmt.Errorf("still at it: %v", devcluster.Tally(found))
		}
		return nil
	})
}

// TestWritesPerResource counts the writes for one Foo: its Deployment and one status on
// creation, and the same on a change.
func TestWritesPerResource(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.run(fooRules)
	since := time.Now()
	w.Create(exampleFoo)
	w.Is(foos, "example", "Ready", "True")
	w.settles()
	t.Logf("create: %v", devcluster.Tally(w.Writes(since)))
	since = time.Now()
	w.Patch(foos, "example", `{"spec":{"replicas":2}}`)
	w.Has(foos, "example", map[string]any{"status.availableReplicas": 2})
	w.Is(foos, "example", "Ready", "True")
	w.settles()
	t.Logf("update: %v", devcluster.Tally(w.Writes(since)))
}
