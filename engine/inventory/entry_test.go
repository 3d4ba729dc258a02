package inventory

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

func TestInventoryRemembersWhatGoes(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Widget"}
	config, secret := &rules.Child{ID: "c", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}},
		&rules.Child{ID: "s", GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, OnDelete: rules.Orphan}
	rule := func(deletes bool, children ...*rules.Child) *rules.Rule {
		return &rules.Rule{Name: "r", GVK: widget, DeleteOnRemoval: deletes, Children: children}
	}
	both := []string{"v1/ConfigMap", "v1/Secret"}
	other := Entry{For: "Other.g", Children: []string{"v1/Pod"}, Delete: true}
	third := Entry{For: "Third.g", Children: []string{"v1/Pod"}}
	with := func(e Entry, earlier ...Entry) Entry {
		e.Earlier = earlier
		return e
	}
	config1 := Entry{For: "Widget.g", Children: []string{"v1/ConfigMap"}}
	for _, c := range []struct {
		name string
		old  Entry
		rule *rules.Rule
		want Entry
		gone int
	}{
		{"a rule that deletes, but for an orphan", Entry{}, rule(true, config, secret),
			Entry{For: "Widget.g", Children: both, Delete: true, Orphans: []string{"s"}}, 0},
		{"one that keeps", Entry{}, rule(false, config, secret), Entry{For: "Widget.g", Children: both}, 0},
		{"one that keeps from now on", Entry{For: "Widget.g", Children: both, Delete: true, Orphans: []string{"s"}}, rule(false, config),
			Entry{For: "Widget.g", Children: both}, 1},
		{"one that was for another kind", other, rule(false, config), with(config1, other), 0},
		{"one that was for two others", with(other, third), rule(false, config), with(config1, third, other), 0},
		{"one that is for its old kind again", with(other, Entry{For: "Widget.g", Children: both, Delete: true}), rule(false, config),
			with(Entry{For: "Widget.g", Children: both}, other), 1},
		{"one that made nothing for its old kind", Entry{For: "Other.g", Children: []string{}}, rule(false, config), config1, 0},
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

func TestRemovedRules(t *testing.T) {
	entries := map[string]Entry{
		"loaded":  {For: "Widget.g", Delete: true},
		"removed": {For: "Widget.g", Delete: true, Earlier: []Entry{{For: "Other.g", Delete: true}, {For: "Kept.g"}}},
		"moved":   {For: "Widget.g", Delete: true, Earlier: []Entry{{For: "Other.g", Delete: true}}},
		"kept":    {For: "Widget.g"},
	}
	var got []string
	for _, r := range removedRules(entries, map[string]bool{"loaded": true, "moved": true}) {
		got = append(got, r.Name+" "+r.For)
	}
	if diff := cmp.Diff([]string{"moved Other.g", "removed Widget.g", "removed Other.g"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInventoryRemembersFinalizers(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Widget"}
	rule := func(ordered bool) *rules.Rule { return &rules.Rule{Name: "r", GVK: widget, Ordered: ordered} }
	none := []string{}
	for _, c := range []struct {
		name string
		old  Entry
		rule *rules.Rule
		want Entry
	}{
		{"a rule that needs none", Entry{}, rule(false), Entry{For: "Widget.g", Children: none}},
		{"one that does", Entry{}, rule(true), Entry{For: "Widget.g", Children: none, Finalizer: true}},
		{"one that does no more", Entry{For: "Widget.g", Finalizer: true}, rule(false), Entry{For: "Widget.g", Children: none, Finalizer: true}},
		{"one that was for another kind", Entry{For: "Other.g", Finalizer: true}, rule(false),
			Entry{For: "Widget.g", Children: none, Former: []string{"Other.g"}}},
		{"one that is for its old kind again", Entry{For: "Other.g", Former: []string{"Widget.g"}}, rule(false),
			Entry{For: "Widget.g", Children: none, Finalizer: true}},
		{"one that needs none any more and was for another kind, twice",
			Entry{For: "Other.g", Former: []string{"Third.g"}}, rule(false),
			Entry{For: "Widget.g", Children: none, Former: []string{"Third.g"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := merged(c.old, c.rule)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOrphanedFinalizers(t *testing.T) {
	entries := map[string]Entry{
		"loaded":  {For: "Widget.g", Finalizer: true},
		"removed": {For: "Widget.g", Finalizer: true, Former: []string{"Other.g"}},
		"moved":   {For: "Widget.g", Former: []string{"Other.g"}},
		"clean":   {For: "Widget.g"},
	}
	got := orphanedFinalizers(entries, map[string]bool{"loaded": true, "moved": true})
	want := []Finalizer{{"moved", "Other.g"}, {"removed", "Widget.g"}, {"removed", "Other.g"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
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
