package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An InventoriedRule is what the inventory remembers of one rule, for those who
// only read it.
type InventoriedRule struct {
	Name string
	// For is the kind of its primaries.
	For schema.GroupKind
	// Former are kinds of which primaries may still carry the rule's finalizer,
	// though the rule of that name is for another kind now.
	Former []schema.GroupKind
}

// ReadInventory returns the rules in the data of an inventory ConfigMap, by name.
// What it cannot read is in the error, beside the rest.
func ReadInventory(data map[string]string) ([]InventoriedRule, error) {
	var found []InventoriedRule
	var damaged []error
	for _, name := range slices.Sorted(maps.Keys(data)) {
		var entry inventoryEntry
		if err := json.Unmarshal([]byte(data[name]), &entry); err != nil {
			damaged = append(damaged, fmt.Errorf("entry %q is damaged: %w", name, err))
			continue
		}
		r := InventoriedRule{Name: name, For: schema.ParseGroupKind(entry.For)}
		for _, kind := range entry.Former {
			r.Former = append(r.Former, schema.ParseGroupKind(kind))
		}
		found = append(found, r)
	}
	return found, errors.Join(damaged...)
}
