package sim_test

import (
	"testing"

	"reconcel/rules/kstatus"
)

// TestAStatusHasTheDefaultOfItsCRD shows a resource that waits for its controller from the start.
func TestAStatusHasTheDefaultOfItsCRD(t *testing.T) {
	w := newWorld(t)
	w.apply("alice", "{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: g}, spec: {port: 80}}")
	expect := func(when string, observed int64, want kstatus.Readiness) {
		t.Helper()
		u := w.Find(gauge.GroupKind(), "default", "g")
		if got := field(u, "status", "observedGeneration"); got != observed || field(u, "status", "phase") != "New" {
			t.Errorf("%s: status %v, want observedGeneration %d and phase New", when, u.Object["status"], observed)
		}
		if got, why := kstatus.Judge(gauge.GroupKind(), u.Object); got != want {
			t.Errorf("%s: readiness %v (%s), want %v", when, got, why, want)
		}
	}
	expect("created", -1, kstatus.Progressing)
	w.apply("alice", "{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: g}, spec: {port: 81}}")
	expect("changed", -1, kstatus.Progressing)
	if err := w.MarkReady(gauge, "default", "g"); err != nil {
		t.Fatal(err)
	}
	expect("ready", 2, kstatus.Ready)
	w.merge(gauge, "g", `{"status": null}`, "status")
	expect("the status is removed", -1, kstatus.Progressing)
}
