package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	nameSuffix     = "-inventory"
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "reconcel"

	// Selector selects the ConfigMaps of all inventories in a cluster, and a few others;
	// see Of.
	Selector = managedByLabel + "=" + managedBy
)

// Resource is the resource of an inventory.
var Resource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Name returns the name of the ConfigMap that is the inventory of an installation.
func Name(installation string) string { return installation + nameSuffix }

// A Stored is the inventory of an installation as it was read from the cluster.
type Stored struct {
	Namespace, Installation string
	Data                    map[string]string
}

// Of returns the inventory in a ConfigMap, and false if it is another ConfigMap.
func Of(configMap *unstructured.Unstructured) (Stored, bool) {
	installation, ok := strings.CutSuffix(configMap.GetName(), nameSuffix)
	data, _, _ := unstructured.NestedStringMap(configMap.Object, "data")
	return Stored{configMap.GetNamespace(), installation, data}, ok
}

// Entries returns the entries by rule. Damaged entries are in the error, and the
// others are returned all the same.
func (s Stored) Entries() (map[string]Entry, error) {
	entries := map[string]Entry{}
	var damaged []error
	for _, rule := range slices.Sorted(maps.Keys(s.Data)) {
		var entry Entry
		if err := json.Unmarshal([]byte(s.Data[rule]), &entry); err != nil {
			damaged = append(damaged, fmt.Errorf("entry %q is damaged: %w", rule, err))
			continue
		}
		entries[rule] = entry
	}
	return entries, errors.Join(damaged...)
}

func encode(entries map[string]Entry) (map[string]string, error) {
	data := map[string]string{}
	for rule, entry := range entries {
		text, err := json.Marshal(entry)
		if err != nil {
			return nil, err
		}
		data[rule] = string(text)
	}
	return data, nil
}
