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

	"reconcel/rules"
)

// Selector selects the ConfigMaps of all inventories in a cluster, and a few others; see Of.
const Selector = rules.LabelManagedBy + "=" + rules.ManagedBy

// Resource is the resource of an inventory.
var Resource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Name returns the name of the ConfigMap that is the inventory of an installation.
func Name(installation string) string { return installation + rules.InventorySuffix }

// A Stored is the inventory of an installation as it was read from the cluster.
type Stored struct {
	Namespace, Installation string
	Data                    map[string]string
	Annotations             map[string]string
	Texts                   *Texts // if they were read
}

// Of returns the inventory in a ConfigMap, and false if it is another ConfigMap.
func Of(configMap *unstructured.Unstructured) (Stored, bool) {
	installation, ok := strings.CutSuffix(configMap.GetName(), rules.InventorySuffix)
	data, _, _ := unstructured.NestedStringMap(configMap.Object, "data")
	return Stored{Namespace: configMap.GetNamespace(), Installation: installation, Data: data,
		Annotations: configMap.GetAnnotations()}, ok
}

// String names the ConfigMap.
func (s Stored) String() string { return "ConfigMap/" + s.Namespace + "/" + Name(s.Installation) }

// A record is what the ConfigMap has of one rule: the entry for one kind, and those for
// the others.
type record struct {
	Entry
	Others []Entry `json:"others,omitempty"`
	// Earlier and Former were written by older versions: entries of moved rules, and kinds
	// whose primaries may carry the finalizer.
	Earlier []Entry  `json:"earlier,omitempty"`
	Former  []string `json:"former,omitempty"`
}

// Entries returns all entries. Damaged records are in the error, and the others are
// returned all the same.
func (s Stored) Entries() (map[Key]Entry, error) {
	entries := map[Key]Entry{}
	var damaged []error
	for _, rule := range slices.Sorted(maps.Keys(s.Data)) {
		var r record
		if err := json.Unmarshal([]byte(s.Data[rule]), &r); err != nil {
			damaged = append(damaged, fmt.Errorf("entry %q is damaged: %w", rule, err))
			continue
		}
		for _, entry := range r.entries() {
			entries[Key{rule, entry.For}] = entry
		}
	}
	return entries, errors.Join(damaged...)
}

// Held returns the changes of rules that wait for an approval.
func (s Stored) Held() (held []HeldChange, err error) {
	if text := s.Annotations[AnnotationHeld]; text != "" {
		if err := json.Unmarshal([]byte(text), &held); err != nil {
			return nil, fmt.Errorf("annotation %s is damaged: %w", AnnotationHeld, err)
		}
	}
	return held, nil
}

// Rejected returns what is wrong with the rules files while older rules are active, or nil.
func (s Stored) Rejected() (r *Rejected, err error) {
	if text := s.Annotations[AnnotationRejected]; text != "" {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return nil, fmt.Errorf("annotation %s is damaged: %w", AnnotationRejected, err)
		}
	}
	return r, nil
}

func (r *record) entries() []Entry {
	all := append(slices.Clone(r.Others), r.Entry)
	for _, entry := range r.Earlier {
		entry.Moved = true
		all = append(all, entry)
	}
	for _, kind := range r.Former {
		i := slices.IndexFunc(all, func(entry Entry) bool { return entry.For == kind })
		if i < 0 {
			i, all = len(all), append(all, Entry{For: kind, Moved: true, Source: r.Source, Children: []string{}})
		}
		all[i].Finalizer = true
	}
	return all
}

func encode(entries map[Key]Entry) (map[string]string, error) {
	records := map[string]record{}
	for _, key := range SortedKeys(entries) {
		r, known := records[key.Rule]
		if entry := entries[key]; !known {
			r.Entry = entry
		} else if r.Moved && !entry.Moved {
			r.Entry, r.Others = entry, append(r.Others, r.Entry)
		} else {
			r.Others = append(r.Others, entry)
		}
		records[key.Rule] = r
	}
	data := map[string]string{}
	for rule, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		data[rule] = string(text)
	}
	return data, nil
}
