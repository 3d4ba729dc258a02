package engine

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
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

// inventoryFrom returns the inventory of a process whose rules come from a source.
func inventoryFrom(client dynamic.Interface, source string, confirmed ...string) *inventory {
	return newInventory(client, Options{Source: source, ConfirmRemoval: confirmed, Log: slog.New(slog.DiscardHandler)}.withDefaults())
}

// TestInventoryKeepsWhatIsComing lets what is done for the old rules come to its
// end after the inventory has been extended for new ones.
func TestInventoryKeepsWhatIsComing(t *testing.T) {
	ctx := t.Context()
	inv := inventoryFrom(fake.NewSimpleDynamicClient(runtime.NewScheme()), "")
	extend := func(p *rules.Program) past {
		t.Helper()
		former, err := inv.compare(ctx, p)
		if err == nil {
			err = inv.extend(ctx, p, nil)
		}
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

// TestInventoryOfARemovedRule lets a sweep end after its rule has come back, and
// after another one is left to do.
func TestInventoryOfARemovedRule(t *testing.T) {
	ctx := t.Context()
	inv := inventoryFrom(fake.NewSimpleDynamicClient(runtime.NewScheme()), "")
	extend := func(p *rules.Program) past {
		t.Helper()
		former, err := inv.compare(ctx, p)
		if err == nil {
			err = inv.extend(ctx, p, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return former
	}
	forget := func(r removedRule) (entry inventoryEntry, ok bool) {
		t.Helper()
		if err := inv.cleared(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := inv.change(ctx, func(entries map[string]inventoryEntry) { entry, ok = entries["r"] }); err != nil {
			t.Fatal(err)
		}
		return entry, ok
	}
	rule, none := programOf(t, "  teardown: ordered\n  onRuleRemoval: delete\n", "ConfigMap"), &rules.Program{}
	extend(rule)
	former := extend(none)
	if len(former.removed) != 1 {
		t.Fatalf("removed are %v", former.removed)
	}
	extend(rule)
	if entry, _ := forget(former.removed[0]); !entry.Delete || len(entry.Children) != 1 {
		t.Errorf("after the rule has come back there is %+v", entry)
	}
	extend(none)
	if entry, _ := forget(former.removed[0]); entry.Delete || len(entry.Children) > 0 || !entry.Finalizer {
		t.Errorf("while its finalizer is not off yet there is %+v", entry)
	}
	if err := inv.swept(ctx, staleFinalizer{"r", "Widget.g"}); err != nil {
		t.Fatal(err)
	}
	if entry, ok := forget(former.removed[0]); ok {
		t.Errorf("in the end there is %+v", entry)
	}
}
