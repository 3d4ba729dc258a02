package engine

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"reconcel/rules"
	"reconcel/rules/syntax"
)

// programOf compiles one rule named r, with children of these kinds.
func programOf(t *testing.T, more string, kinds ...string) *rules.Program {
	t.Helper()
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n  for: {apiVersion: g/v1, kind: Widget}\n" + more + "  children:\n"
	for i, k := range kinds {
		text += fmt.Sprintf("  - id: c%d\n    template: {apiVersion: v1, kind: %s, metadata: {name: x%d}}\n", i, k, i)
	}
	program, err := rules.Load([]syntax.Source{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestInventoryKeepsWhatIsComing lets what is done for the old rules come to its
// end after the inventory has been extended for new ones.
func TestInventoryKeepsWhatIsComing(t *testing.T) {
	ctx := t.Context()
	inv := newInventory(fake.NewSimpleDynamicClient(runtime.NewScheme()), "default", "inventory", slog.New(slog.DiscardHandler))
	extend := func(p *rules.Program) past {
		t.Helper()
		former, err := inv.extend(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		return former
	}
	stored := func() (entry inventoryEntry) {
		t.Helper()
		err := inv.change(ctx, func(entries map[string]inventoryEntry) { entry = entries["r"] })
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	sweep := func(s staleFinalizer) {
		t.Helper()
		if err := inv.swept(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	drop := func() {
		t.Helper()
		if err := inv.drop(ctx, "r", secret); err != nil {
			t.Fatal(err)
		}
	}
	both := programOf(t, "  teardown: ordered\n", "ConfigMap", "Secret")
	extend(both)
	if former := extend(programOf(t, "", "ConfigMap")); !slices.Contains(former.children["r"], secret) {
		t.Fatalf("the former kinds are %v", former.children)
	}
	extend(both)
	drop()
	sweep(staleFinalizer{"r", "Widget.g"})
	if got := stored(); strings.Join(got.Children, " ") != "v1/ConfigMap v1/Secret" || !got.Finalizer {
		t.Errorf("of what the rule is about to do there is %+v", got)
	}
	extend(programOf(t, "", "ConfigMap"))
	drop()
	if got := stored(); strings.Join(got.Children, " ") != "v1/ConfigMap" {
		t.Errorf("after the kind has gone there is %+v", got)
	}
	none := &rules.Program{}
	if former := extend(none); len(former.finalizers) != 1 {
		t.Fatalf("the finalizers to be swept are %v", former.finalizers)
	}
	sweep(staleFinalizer{"r", "Widget.g"})
	if got := stored(); got.Finalizer {
		t.Errorf("after the finalizer has been swept there is %+v", got)
	}
}
