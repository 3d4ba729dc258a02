package inventory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"reconcel/rules"
	"reconcel/rules/source"
)

// widgets is the key of the rule of programOf.
var widgets = Key{"r", "Widget.g"}

// programOf compiles one rule named r, with children of these kinds.
func programOf(t *testing.T, more string, kinds ...string) *rules.Program {
	t.Helper()
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n  for: {apiVersion: g/v1, kind: Widget}\n" + more + "  children:\n"
	for i, k := range kinds {
		text += fmt.Sprintf("  - id: c%d\n    template: {apiVersion: v1, kind: %s, metadata: {name: x%d}}\n", i, k, i)
	}
	return load(t, text)
}

// bundleOf compiles a rule for the cluster with a child of kind Secret.
func bundleOf(t *testing.T, more string) *rules.Program {
	t.Helper()
	return load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n  for: cluster\n  allow: {namespaces: [a]}\n"+more+
		"  children: [{id: c, template: {apiVersion: v1, kind: Secret, metadata: {name: x, namespace: a}}}]\n")
}

func load(t *testing.T, text string) *rules.Program {
	t.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// inventoryFrom returns the inventory of a process whose rules come from a source.
func inventoryFrom(client dynamic.Interface, source string) *Inventory {
	return New(client, Options{Namespace: "default", Installation: "reconcel", Source: source})
}

// extend compares the inventory with rules and extends it for them.
func extend(t *testing.T, inv *Inventory, p *rules.Program) Orphaned {
	t.Helper()
	orphaned, err := inv.Compare(t.Context(), p)
	if err == nil {
		err = inv.Extend(t.Context(), p, Check{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return orphaned
}

// TestInventoryKeepsWhatIsComing extends the inventory for new rules while the
// cleanup of the old rules is still running.
func TestInventoryKeepsWhatIsComing(t *testing.T) {
	ctx := t.Context()
	inv := inventoryFrom(fake.NewSimpleDynamicClient(runtime.NewScheme()), "")
	stored := func() (entry Entry) {
		t.Helper()
		err := inv.change(ctx, func(c *content) error { entry = c.entries[widgets]; return nil })
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	sweep := func(s Finalizer) {
		t.Helper()
		if err := inv.RemoveFinalizer(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	drop := func() {
		t.Helper()
		if err := inv.RemoveKind(ctx, widgets, secret); err != nil {
			t.Fatal(err)
		}
	}
	both := programOf(t, "  teardown: ordered\n", "ConfigMap", "Secret")
	extend(t, inv, both)
	if orphaned := extend(t, inv, programOf(t, "", "ConfigMap")); !slices.Contains(orphaned.Kinds[widgets], secret) {
		t.Fatalf("the former kinds are %v", orphaned.Kinds)
	}
	extend(t, inv, both)
	drop()
	sweep(Finalizer{"r", "Widget.g"})
	if got := stored(); strings.Join(got.Children, " ") != "v1/ConfigMap v1/Secret" || !got.Finalizer {
		t.Errorf("of what the rule is about to do there is %+v", got)
	}
	extend(t, inv, programOf(t, "", "ConfigMap"))
	drop()
	if got := stored(); strings.Join(got.Children, " ") != "v1/ConfigMap" {
		t.Errorf("after the kind has gone there is %+v", got)
	}
	none := &rules.Program{}
	if orphaned := extend(t, inv, none); len(orphaned.Finalizers) != 1 {
		t.Fatalf("the finalizers to be swept are %v", orphaned.Finalizers)
	}
	sweep(Finalizer{"r", "Widget.g"})
	if got := stored(); got.Finalizer {
		t.Errorf("after the finalizer has been removed there is %+v", got)
	}
}

// TestInventoryOfARemovedRule ends a cleanup after its rule has come back, and
// while another cleanup is left to do.
func TestInventoryOfARemovedRule(t *testing.T) {
	ctx := t.Context()
	inv := inventoryFrom(fake.NewSimpleDynamicClient(runtime.NewScheme()), "")
	forget := func(r RemovedRule) (entry Entry, ok bool) {
		t.Helper()
		if err := inv.RemoveRule(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := inv.change(ctx, func(c *content) error { entry, ok = c.entries[widgets]; return nil }); err != nil {
			t.Fatal(err)
		}
		return entry, ok
	}
	rule, none := programOf(t, "  teardown: ordered\n  onRuleRemoval: delete\n", "ConfigMap"), &rules.Program{}
	extend(t, inv, rule)
	orphaned := extend(t, inv, none)
	if len(orphaned.Removed) != 1 {
		t.Fatalf("removed are %v", orphaned.Removed)
	}
	extend(t, inv, rule)
	if entry, _ := forget(orphaned.Removed[0]); !entry.Delete || len(entry.Children) != 1 {
		t.Errorf("after the rule has come back there is %+v", entry)
	}
	extend(t, inv, none)
	if entry, _ := forget(orphaned.Removed[0]); entry.Delete || len(entry.Children) > 0 || !entry.Finalizer {
		t.Errorf("while its finalizer is not off yet there is %+v", entry)
	}
	if err := inv.RemoveFinalizer(ctx, Finalizer{"r", "Widget.g"}); err != nil {
		t.Fatal(err)
	}
	if entry, ok := forget(orphaned.Removed[0]); ok {
		t.Errorf("in the end there is %+v", entry)
	}
}

// TestInventoryIsRestored deletes the ConfigMap of an inventory.
func TestInventoryIsRestored(t *testing.T) {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	inv := inventoryFrom(client, "")
	restore := func(want bool) {
		t.Helper()
		if restored, err := inv.Restore(t.Context()); err != nil || restored != want {
			t.Fatalf("restored: %v, %v", restored, err)
		}
	}
	restore(false) // Nothing is known yet.
	extend(t, inv, programOf(t, "", "ConfigMap"))
	restore(false)
	before, _, err := inv.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	configMaps := client.Resource(Resource).Namespace(inv.options.Namespace)
	if err := configMaps.Delete(t.Context(), Name(inv.options.Installation), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	restore(true)
	after, found, err := inv.Entries(t.Context())
	if err != nil || !found || len(after) == 0 || !reflect.DeepEqual(before, after) {
		t.Fatalf("%v, %v: %v instead of %v", found, err, after, before)
	}
}

// TestInventoryOfABackupIsCompleted replaces the ConfigMap of an inventory by what it was before a rule had its second kind of children.
func TestInventoryOfABackupIsCompleted(t *testing.T) {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	inv := inventoryFrom(client, "")
	configMaps := client.Resource(Resource).Namespace(inv.options.Namespace)
	extend(t, inv, programOf(t, "  onRuleRemoval: delete\n", "ConfigMap"))
	backup, err := configMaps.Get(t.Context(), Name(inv.options.Installation), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	extend(t, inv, programOf(t, "  onRuleRemoval: delete\n", "ConfigMap", "Secret"))
	before, _, err := inv.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []any{backup.Object["data"], map[string]any{}} {
		restored := backup.DeepCopy()
		restored.Object["data"] = data
		if _, err := configMaps.Update(t.Context(), restored, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if restored, err := inv.Restore(t.Context()); err != nil || !restored {
			t.Fatalf("restored: %v, %v", restored, err)
		}
		after, _, err := inv.Entries(t.Context())
		if err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%v, %v, want %v", after, err, before)
		}
		if again, err := inv.Restore(t.Context()); err != nil || again {
			t.Errorf("restored again: %v, %v", again, err)
		}
	}
}

// TestInventoryOfAnIncompleteProgram lacks a rule because it could not be read, and then because it was removed.
func TestInventoryOfAnIncompleteProgram(t *testing.T) {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	inv := inventoryFrom(client, "")
	rule := programOf(t, "  teardown: ordered\n  onRuleRemoval: delete\n", "ConfigMap")
	extend(t, inv, rule)
	before, _, err := inv.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	some := programsOf(t, "")
	incomplete := some.AsIncomplete()
	for _, p := range []*rules.Program{incomplete, incomplete.Compose(rule.Primaries()[0].Rules...)} {
		if orphaned := extend(t, inv, p); len(orphaned.Removed)+len(orphaned.Finalizers)+len(orphaned.Kept) > 0 {
			t.Errorf("of a rule that could not be read, this is removed: %+v", orphaned)
		}
	}
	after, _, err := inv.Entries(t.Context())
	if err != nil || !reflect.DeepEqual(before[widgets], after[widgets]) {
		t.Errorf("its entry is %+v (%v), and was %+v", after[widgets], err, before[widgets])
	}
	if files, err := inv.LastFiles(t.Context()); err != nil || revisionOf(files) != revisionOf(rule.Sources()) {
		t.Errorf("a next process would start with %v (%v)", files, err)
	}
	if orphaned := extend(t, inv, some); len(orphaned.Removed) != 1 || len(orphaned.Finalizers) != 1 {
		t.Errorf("of a removed rule, this is removed: %+v", orphaned)
	}
}

// TestInventoryThatSeveralProcessesChange lets two processes change an inventory in any order: each has what a new one
// reads.
func TestInventoryThatSeveralProcessesChange(t *testing.T) {
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	version := 0
	processes := []*Inventory{inventoryFrom(client, samePlace), inventoryFrom(client, samePlace)}
	for _, inv := range processes {
		inv.client = &versioned{inv.client, &version}
	}
	programs := []*rules.Program{programsOf(t, "", "", ""), programsOf(t, changed, "", ""), programsOf(t, "", changed), programsOf(t, "")}
	r := rand.New(rand.NewPCG(3, 7))
	for step := range 200 {
		inv, program := processes[r.IntN(2)], programs[r.IntN(len(programs))]
		of := KeyOf(program.Primaries()[0].Rules[0])
		var err error
		switch r.IntN(5) {
		case 0, 1:
			check := Check{Rollouts: map[string]Rollout{}}
			if r.IntN(2) == 0 {
				check.Held = map[Key]HeldChange{of: {Rule: of.Rule, Kind: of.Kind, Hash: "1234567890", Message: "would delete much"}}
			}
			if r.IntN(2) == 0 {
				check.Rollouts[of.Kind] = Rollout{To: strconv.Itoa(step), State: Progressing}
			}
			err = inv.Extend(t.Context(), program, check)
		case 2:
			err = inv.Approve(t.Context(), "1234567890")
		case 3:
			err = inv.SetRollout(t.Context(), of.Kind, Paused)
		case 4:
			err = inv.SetRejected(t.Context(), &Rejected{Hash: strconv.Itoa(step)})
		}
		state := func(inv *Inventory) string {
			c, _, err := inv.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			data, err := encode(c.entries)
			if err != nil {
				t.Fatal(err)
			}
			annotations, err := c.annotations(nil)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(data, annotations)
		}
		want := state(inventoryFrom(client, samePlace))
		for i, inv := range processes {
			if diff := cmp.Diff(want, state(inv)); diff != "" {
				t.Fatalf("step %d (%v): process %d has (-stored +got):\n%s", step, err, i, diff)
			}
		}
	}
}

// versioned is a client of an API server that gives each state of an object a resourceVersion.
type versioned struct {
	dynamic.ResourceInterface
	last *int
}

func (v *versioned) next(u *unstructured.Unstructured) *unstructured.Unstructured {
	*v.last++
	u.SetResourceVersion(strconv.Itoa(*v.last))
	return u
}

func (v *versioned) Create(ctx context.Context, u *unstructured.Unstructured, o metav1.CreateOptions, sub ...string) (*unstructured.Unstructured, error) {
	return v.ResourceInterface.Create(ctx, v.next(u), o, sub...)
}

func (v *versioned) Update(ctx context.Context, u *unstructured.Unstructured, o metav1.UpdateOptions, sub ...string) (*unstructured.Unstructured, error) {
	return v.ResourceInterface.Update(ctx, v.next(u), o, sub...)
}
