package world_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim/world"
)

// TestDroppedVersion takes a child of a rule away after its CRD has dropped the version that the rule rendered. The object is
// deleted, and the resource with a finalizer can go.
func TestDroppedVersion(t *testing.T) {
	kinds := kindsOf(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: machines.others.example.com},
spec: {group: others.example.com, scope: Namespaced, names: {kind: Machine, plural: machines}, versions: [
{name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}, {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	rule := func(more string) string {
		return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: one\n  for: {apiVersion: v1, kind: Service}\n  teardown: ordered\n  children:\n" +
			"  - id: c\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n" + more
	}
	const machine = "  - id: m\n    template: {apiVersion: others.example.com/v1beta1, kind: Machine, metadata: {name: m}}\n"
	machineKind := schema.GroupKind{Group: "others.example.com", Kind: "Machine"}
	w, err := world.New(world.Options{Program: parsed(t, rule(machine)), Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	services := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("default")
	add(t, w, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},"spec":{"ports":[{"port":80}]}}`)
	settle(t, w)
	if w.Cluster().Find(machineKind, "default", "m") == nil {
		t.Fatal("there is no Machine")
	}
	w.Drop(machineKind.WithVersion("v1beta1"))
	if err := w.RestartWith(t.Context(), parsed(t, rule(""))); err != nil {
		t.Fatal(err)
	}
	if err := w.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if m := w.Cluster().Find(machineKind, "default", "m"); m != nil {
		t.Errorf("the Machine stays: %v", m)
	}
	if err := services.Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if s := w.Cluster().Find(schema.GroupKind{Kind: "Service"}, "default", "s"); s != nil {
		t.Errorf("the Service stays: %v", s)
	}
}
