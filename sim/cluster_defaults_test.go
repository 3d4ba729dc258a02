package sim_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestIntOrStringIsValidated creates resources whose values are neither numbers nor texts.
func TestIntOrStringIsValidated(t *testing.T) {
	for _, test := range []struct{ spec, want string }{
		{"port: 80, ports: [80, http], named: {a: 80, b: http}, even: 2, none: null", ""},
		{"even: xy", ""},
		{"port: true", `spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"`},
		{"port: {a: b}", `spec.port: Invalid value: "object": spec.port in body must be of type integer,string: "object"`},
		{"port: 1.5", `spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number"`},
		{"ports: [80, [81]]", `spec.ports[1]: Invalid value: "array": spec.ports[1] in body must be of type integer,string: "array"`},
		{"named: {a: true}", `spec.named.a: Invalid value: "boolean": spec.named.a in body must be of type integer,string: "boolean"`},
	} {
		t.Run(test.spec, func(t *testing.T) {
			w := newWorld(t)
			u := parse(t, "{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: g}, spec: {"+test.spec+"}}")
			_, err := w.of(gauge).Create(t.Context(), u, metav1.CreateOptions{})
			expectAnswer(t, err, test.want)
		})
	}
}

// TestACRDIsEstablishedAtOnce shows a CRD that is ready without anybody who marks it.
func TestACRDIsEstablishedAtOnce(t *testing.T) {
	crds, err := widgetCRDs()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	definition := crds[0].GroupVersionKind()
	if _, err := w.of(definition).Create(t.Context(), crds[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if !w.Collect() || w.Collect() {
		t.Error("it is not established in one round")
	}
	live := w.Find(definition.GroupKind(), "", "widgets.sim.reconcel.dev")
	if got, why := kstatus.Judge(definition.GroupKind(), live.Object); got != kstatus.Ready {
		t.Errorf("readiness %v (%s): %v", got, why, live.Object["status"])
	}
	if field(live, "status", "acceptedNames", "kind") != "Widget" || len(field(live, "status", "storedVersions").([]any)) != 1 {
		t.Errorf("status %v", live.Object["status"])
	}
	if err := w.MarkReady(definition, "", live.GetName()); err != nil {
		t.Fatal(err)
	}
	live = w.Find(definition.GroupKind(), "", live.GetName())
	if got, why := kstatus.Judge(definition.GroupKind(), live.Object); got != kstatus.Ready {
		t.Errorf("marked ready: readiness %v (%s): %v", got, why, live.Object["status"])
	}
}

// TestAnAPIServiceIsMarkedReady shows the condition that clients wait for.
func TestAnAPIServiceIsMarkedReady(t *testing.T) {
	w := newWorld(t)
	u := w.put("{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.a.dev}, spec: {group: a.dev, version: v1, groupPriorityMinimum: 1, versionPriority: 1}}")
	gvk := u.GroupVersionKind()
	if err := w.MarkReady(gvk, "", "v1.a.dev"); err != nil {
		t.Fatal(err)
	}
	conditions := field(w.Find(gvk.GroupKind(), "", "v1.a.dev"), "status", "conditions").([]any)
	if len(conditions) != 1 || conditions[0].(map[string]any)["type"] != "Available" {
		t.Errorf("%v", conditions)
	}
}
