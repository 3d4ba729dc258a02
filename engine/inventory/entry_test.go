package inventory

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"reconcel/rules"
	"reconcel/rules/source"
)

func TestInventoryRemembersWhatGoes(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Widget"}
	config, secret := &rules.Child{ID: "c", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}},
		&rules.Child{ID: "s", GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, OnDelete: rules.Orphan}
	rule := func(deletes, ordered bool, children ...*rules.Child) *rules.Rule {
		return &rules.Rule{Name: "r", GVK: widget, DeleteOnRemoval: deletes, Ordered: ordered, Children: children}
	}
	both := []string{"v1/ConfigMap", "v1/Secret"}
	config1 := Entry{For: "Widget.g", Children: []string{"v1/ConfigMap"}}
	none := []string{}
	for _, c := range []struct {
		name string
		old  Entry
		rule *rules.Rule
		want Entry
		gone int
	}{
		{"a rule that deletes, but for an orphan", Entry{}, rule(true, false, config, secret),
			Entry{For: "Widget.g", Children: both, Delete: true, Orphans: []string{"s"}}, 0},
		{"one that keeps", Entry{}, rule(false, false, config, secret), Entry{For: "Widget.g", Children: both}, 0},
		{"one that keeps from now on", Entry{For: "Widget.g", Children: both, Delete: true, Orphans: []string{"s"}}, rule(false, false, config),
			Entry{For: "Widget.g", Children: both}, 1},
		{"one that is for its old kind again", Entry{For: "Widget.g", Moved: true, Children: both, Delete: true}, rule(false, false, config),
			Entry{For: "Widget.g", Children: both}, 1},
		{"one that made nothing before", Entry{For: "Widget.g", Children: none}, rule(false, false, config), config1, 0},
		{"one that needs a finalizer", Entry{}, rule(false, true), Entry{For: "Widget.g", Children: none, Finalizer: true}, 0},
		{"one that needs it no more", Entry{For: "Widget.g", Finalizer: true}, rule(false, false), Entry{For: "Widget.g", Children: none, Finalizer: true}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, gone := merged(c.old, c.rule)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(gone) != c.gone {
				t.Errorf("no more rendered are %v", gone)
			}
		})
	}
}

// TestInventoryOfKinds merges a rule for the kinds A and B with what rules of its name have
// made for others.
func TestInventoryOfKinds(t *testing.T) {
	entries := map[Key]Entry{
		{"r", "A.g"}:     {For: "A.g", Children: []string{"v1/Secret"}, Delete: true},
		{"r", "C.g"}:     {For: "C.g", Children: []string{"v1/Pod"}, Delete: true, Finalizer: true},
		{"r", "D.g"}:     {For: "D.g", Children: []string{"v1/Pod"}},
		{"r", "E.g"}:     {For: "E.g", Children: []string{}},
		{"other", "A.g"}: {For: "A.g", Delete: true, Finalizer: true},
		{"kept", "A.g"}:  {For: "A.g", Children: []string{"v1/Pod"}},
	}
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: r
  for: [{apiVersion: g/v1, kind: A}, {apiVersion: g/v1, kind: B}]
  onRuleRemoval: delete
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	found := (&Inventory{}).merge(entries, program, Check{})
	config := []string{"v1/ConfigMap"}
	want := map[Key]Entry{
		{"r", "A.g"}:     {For: "A.g", Children: []string{"v1/ConfigMap", "v1/Secret"}, Delete: true},
		{"r", "B.g"}:     {For: "B.g", Children: config, Delete: true},
		{"r", "C.g"}:     {For: "C.g", Moved: true, Children: []string{"v1/Pod"}, Delete: true, Finalizer: true},
		{"r", "D.g"}:     {For: "D.g", Moved: true, Children: []string{"v1/Pod"}},
		{"other", "A.g"}: {For: "A.g", Delete: true, Finalizer: true},
		{"kept", "A.g"}:  {For: "A.g", Children: []string{"v1/Pod"}},
	}
	if diff := cmp.Diff(want, entries, cmpopts.IgnoreFields(Entry{}, "Digest", "Revision")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[Key][]schema.GroupVersionKind{{"r", "A.g"}: {{Version: "v1", Kind: "Secret"}}}, found.Kinds); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Finalizer{{"other", "A.g"}, {"r", "C.g"}}, found.Finalizers); diff != "" {
		t.Error(diff)
	}
	var removed []string
	for _, r := range found.Removed {
		removed = append(removed, r.Name+" "+r.For)
	}
	if diff := cmp.Diff([]string{"other A.g", "r C.g"}, removed); diff != "" {
		t.Error(diff)
	}
	data, err := encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Stored{Data: data}.Entries()
	if diff := cmp.Diff(entries, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestInventoryEntryRoundTrip(t *testing.T) {
	for _, text := range []string{"apps/v1/Deployment", "v1/ConfigMap"} {
		if got := formatKind(parseKind(text)); got != text {
			t.Errorf("%s came back as %s", text, got)
		}
	}
}

func TestInventoryHasNoLookups(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Widget"}
	reads := &rules.Rule{Name: "r", GVK: widget, Lookups: []*rules.Lookup{{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}}},
		Children: []*rules.Child{{ID: "c", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}}}
	if entry, _ := merged(Entry{}, reads); !slices.Equal(entry.Children, []string{"v1/ConfigMap"}) {
		t.Errorf("the inventory has %v", entry.Children)
	}
}

// TestWhatIsLeft takes kinds and rules away. What is left are kinds of objects that are still to be removed, and
// primaries that may still have marks.
func TestWhatIsLeft(t *testing.T) {
	const remove = "  onRuleRemoval: delete\n"
	for _, c := range []struct {
		name          string
		before, after *rules.Program
		want          string
	}{
		{"all is rendered", programOf(t, "", "ConfigMap"), programOf(t, "", "ConfigMap"), ""},
		{"a kind is not rendered any more", programOf(t, "", "ConfigMap", "Secret"), programOf(t, "", "Secret"), "ConfigMap"},
		{"the rule is gone, its objects stay", programOf(t, "", "ConfigMap"), &rules.Program{}, ""},
		{"its primaries have finalizers", programOf(t, "  teardown: ordered\n", "ConfigMap"), &rules.Program{}, "Widget.g"},
		{"the rule is gone, and its objects shall be", programOf(t, remove, "ConfigMap", "Secret"), &rules.Program{}, "ConfigMap Secret Widget.g"},
		{"the rule may be gone", programOf(t, "", "ConfigMap"), (&rules.Program{}).AsIncomplete(), "ConfigMap Widget.g"},
		{"a bundle is there", bundleOf(t, ""), bundleOf(t, ""), ""},
		{"the rule of a bundle is gone, its objects stay", bundleOf(t, ""), &rules.Program{}, "the bundle of r"},
		{"the rule of a bundle is gone, and its objects shall be", bundleOf(t, remove), &rules.Program{}, "Secret the bundle of r"},
		{"the rule has a primary now", bundleOf(t, ""), programOf(t, "", "Secret"), "the bundle of r"},
		{"the rule of a bundle may be gone", bundleOf(t, ""), (&rules.Program{}).AsIncomplete(), "Secret the bundle of r"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv := inventoryFrom(fake.NewSimpleDynamicClient(runtime.NewScheme()), "")
			extend(t, inv, c.before)
			left, err := inv.Left(t.Context(), []*rules.Program{c.after})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for gk := range left.Kinds {
				names = append(names, gk.String())
			}
			slices.Sort(names)
			for _, rule := range left.Bundles {
				names = append(names, "the bundle of "+rule)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
