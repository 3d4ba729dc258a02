package engine

import (
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
	other := inventoryEntry{For: "Other.g", Children: []string{"v1/Pod"}, Delete: true}
	third := inventoryEntry{For: "Third.g", Children: []string{"v1/Pod"}}
	with := func(e inventoryEntry, earlier ...inventoryEntry) inventoryEntry {
		e.Earlier = earlier
		return e
	}
	config1 := inventoryEntry{For: "Widget.g", Children: []string{"v1/ConfigMap"}}
	for _, c := range []struct {
		name string
		old  inventoryEntry
		rule *rules.Rule
		want inventoryEntry
		gone int
	}{
		{"a rule that deletes, but for an orphan", inventoryEntry{}, rule(true, config, secret),
			inventoryEntry{For: "Widget.g", Children: both, Delete: true, Orphans: []string{"s"}}, 0},
		{"one that keeps", inventoryEntry{}, rule(false, config, secret), inventoryEntry{For: "Widget.g", Children: both}, 0},
		{"one that keeps from now on", inventoryEntry{For: "Widget.g", Children: both, Delete: true, Orphans: []string{"s"}}, rule(false, config),
			inventoryEntry{For: "Widget.g", Children: both}, 1},
		{"one that was for another kind", other, rule(false, config), with(config1, other), 0},
		{"one that was for two others", with(other, third), rule(false, config), with(config1, third, other), 0},
		{"one that is for its old kind again", with(other, inventoryEntry{For: "Widget.g", Children: both, Delete: true}), rule(false, config),
			with(inventoryEntry{For: "Widget.g", Children: both}, other), 1},
		{"one that made nothing for its old kind", inventoryEntry{For: "Other.g", Children: []string{}}, rule(false, config), config1, 0},
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
	entries := map[string]inventoryEntry{
		"loaded":  {For: "Widget.g", Delete: true},
		"removed": {For: "Widget.g", Delete: true, Earlier: []inventoryEntry{{For: "Other.g", Delete: true}, {For: "Kept.g"}}},
		"moved":   {For: "Widget.g", Delete: true, Earlier: []inventoryEntry{{For: "Other.g", Delete: true}}},
		"kept":    {For: "Widget.g"},
	}
	var got []string
	for _, r := range removedRules(entries, map[string]bool{"loaded": true, "moved": true}) {
		got = append(got, r.name+" "+r.made.For)
	}
	if diff := cmp.Diff([]string{"moved Other.g", "removed Widget.g", "removed Other.g"}, got); diff != "" {
		t.Error(diff)
	}
}
