package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/rules"
)

// An inventory remembers which kinds each rule has ever rendered, in a
// ConfigMap of ours: one key for each rule. A rule may lose its last template
// of a kind while no process is running, and nothing else would tell the next
// one to look for objects of that kind. It is written before a rule writes its
// first object of a kind, and a kind is taken out again when nothing is left of
// it.
//
// A rule that is not loaded keeps its entry: its children are kept as well, and
// it may come back. Only the finalizers that it has set are taken off, since
// nobody would do what they stand for: that a rule may have set some is
// remembered before it sets the first. Of a rule that said onRuleRemoval: delete
// all else goes too, and then the entry.
type inventory struct {
	client    dynamic.ResourceInterface
	namespace string
	name      string
	log       *slog.Logger
	source    string   // of the rules of this process (Options.Source)
	confirmed []string // Options.ConfirmRemoval

	mu      sync.Mutex     // one change at a time
	program *rules.Program // that it was extended for last
}

// InventoryName returns the name of the ConfigMap that is the inventory of the
// engine of a name (Options.Name).
func InventoryName(engine string) string { return engine + "-inventory" }

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func newInventory(client dynamic.Interface, options Options) *inventory {
	return &inventory{
		client: client.Resource(configMaps).Namespace(options.Namespace), namespace: options.Namespace, name: InventoryName(options.Name),
		log: options.Log, source: options.Source, confirmed: options.ConfirmRemoval,
	}
}

// A past is what rules did once and do not any more.
type past struct {
	children   map[string][]schema.GroupVersionKind // the kinds that each loaded rule, by name, has rendered
	finalizers []staleFinalizer
	removed    []removedRule
	kept       []keptRule
	takenOver  map[string][]string // by rule, the installations whose objects were taken over
}

// extend adds what the program renders, and writes the inventory when that was
// news. Nothing is added for rules that are refused.
func (inv *inventory) extend(ctx context.Context, program *rules.Program, v *verdict) error {
	return inv.change(ctx, func(entries map[string]inventoryEntry) {
		inv.program = program
		inv.extended(entries, program, v)
	})
}

// compare returns what rules did once and the program does not do any more. It
// writes nothing.
func (inv *inventory) compare(ctx context.Context, program *rules.Program) (former past, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	stored, err := inv.client.Get(ctx, inv.name, metav1.GetOptions{})
	var data map[string]string
	switch {
	case err == nil:
		data, _, _ = unstructured.NestedStringMap(stored.Object, "data")
	case !apierrors.IsNotFound(err):
		return former, fmt.Errorf("inventory ConfigMap/%s/%s: %w", inv.namespace, inv.name, err)
	}
	_, err = edited(data, func(entries map[string]inventoryEntry) { former = inv.extended(entries, program, nil) })
	return former, err
}

// extended adds what a program renders to the entries, and returns what only
// they have.
func (inv *inventory) extended(entries map[string]inventoryEntry, program *rules.Program, v *verdict) past {
	former := past{children: map[string][]schema.GroupVersionKind{}, takenOver: map[string][]string{}}
	loaded := map[string]bool{}
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			if loaded[r.Name] = true; v.refuses(r) {
				continue
			}
			entry, gone := merged(entries[r.Name], r)
			entry.Source = inv.source
			if others := v.ownersOf(r.Name); len(others) > 0 {
				entry.TakenOver = others
			}
			if len(entry.TakenOver) > 0 {
				former.takenOver[r.Name] = entry.TakenOver
			}
			entries[r.Name] = entry
			if len(gone) > 0 {
				former.children[r.Name] = gone
			}
		}
	}
	former.finalizers = staleFinalizers(entries, loaded)
	former.removed = removedRules(entries, loaded)
	inv.keepUnconfirmed(&former, entries)
	return former
}

// drop takes a kind out of a rule's entry, unless the rule is about to render
// it again: whoever drops may follow an older program.
func (inv *inventory) drop(ctx context.Context, rule string, gvk schema.GroupVersionKind) error {
	return inv.change(ctx, func(entries map[string]inventoryEntry) {
		entry, ok := entries[rule]
		if !ok || inv.renders(rule, gvk) {
			return
		}
		entry.Children = slices.DeleteFunc(slices.Clone(entry.Children), func(s string) bool { return s == kindText(gvk) })
		entries[rule] = entry
	})
}

// cleared notes that removal of rule complete, unless the rule has come
// back.
func (inv *inventory) cleared(ctx context.Context, r removedRule) error {
	return inv.change(ctx, func(entries map[string]inventoryEntry) {
		entry, ok := entries[r.name]
		switch {
		case !ok:
			return
		case entry.For != r.made.For:
			entry.Earlier = slices.DeleteFunc(slices.Clone(entry.Earlier), func(e inventoryEntry) bool { return e.For == r.made.For })
		case inv.rule(r.name) == nil:
			entry.Children, entry.Orphans, entry.Delete = []string{}, nil, false
		}
		inv.put(entries, r.name, entry)
	})
}

// put changes an entry, or takes it out when nothing is left in it.
func (inv *inventory) put(entries map[string]inventoryEntry, rule string, entry inventoryEntry) {
	if entries[rule] = entry; entry.empty() && inv.rule(rule) == nil {
		delete(entries, rule)
	}
}

// renders reports whether a rule renders a kind.
func (inv *inventory) renders(rule string, gvk schema.GroupVersionKind) bool {
	r := inv.rule(rule)
	return r != nil && slices.ContainsFunc(r.Children, func(c *rules.Child) bool { return c.GVK == gvk })
}

// rule returns a rule of the last program, or nil.
func (inv *inventory) rule(name string) *rules.Rule {
	if inv.program == nil {
		return nil
	}
	for _, p := range inv.program.Primaries() {
		for _, r := range p.Rules {
			if r.Name == name {
				return r
			}
		}
	}
	return nil
}

// change reads, edits and writes the ConfigMap, and begins anew when somebody
// else has written it in between. It writes nothing when the edit changes
// nothing.
func (inv *inventory) change(ctx context.Context, edit func(map[string]inventoryEntry)) error {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	const mostTries = 5
	for tries := 1; ; tries++ {
		err := inv.tryChange(ctx, edit)
		if err == nil {
			return nil
		}
		raced := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
		if tries == mostTries || !raced {
			return fmt.Errorf("inventory ConfigMap/%s/%s: %w", inv.namespace, inv.name, err)
		}
	}
}

func (inv *inventory) tryChange(ctx context.Context, edit func(map[string]inventoryEntry)) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	stored, err := inv.client.Get(ctx, inv.name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	if missing {
		stored = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": inv.name, "namespace": inv.namespace,
				"labels": map[string]any{"app.kubernetes.io/managed-by": "reconcel"}},
		}}
	}
	before, _, _ := unstructured.NestedStringMap(stored.Object, "data")
	after, err := edited(before, edit)
	if err != nil {
		return err
	}
	if same(before, after) {
		return nil
	}
	if err := unstructured.SetNestedStringMap(stored.Object, after, "data"); err != nil {
		return err
	}
	if missing {
		_, err = inv.client.Create(ctx, stored, metav1.CreateOptions{FieldManager: FieldManager})
	} else {
		_, err = inv.client.Update(ctx, stored, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	return err
}

// edited decodes, edits and encodes the data of the ConfigMap. What it cannot
// read is an error and not an empty inventory.
func edited(data map[string]string, edit func(map[string]inventoryEntry)) (map[string]string, error) {
	entries := map[string]inventoryEntry{}
	for rule, text := range data {
		var entry inventoryEntry
		if err := json.Unmarshal([]byte(text), &entry); err != nil {
			return nil, fmt.Errorf("entry %q is damaged: %w", rule, err)
		}
		entries[rule] = entry
	}
	edit(entries)
	result := map[string]string{}
	for rule, entry := range entries {
		text, err := json.Marshal(entry)
		if err != nil {
			return nil, err
		}
		result[rule] = string(text)
	}
	return result, nil
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || other != value {
			return false
		}
	}
	return true
}

func kindText(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}

func parseKind(text string) schema.GroupVersionKind {
	i := strings.LastIndex(text, "/")
	return schema.FromAPIVersionAndKind(text[:max(i, 0)], text[i+1:])
}
