package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/answer"
	"reconcel/rules"
)

// timeout bounds one request.
const timeout = 10 * time.Second

// Options say whose inventory it is.
type Options struct {
	// Namespace and Installation name the installation.
	Namespace, Installation string
	FieldManager            string
	// Source says where the rules of this process come from.
	Source string
	// ConfirmRemoval names rules that are removed whatever source had them.
	ConfirmRemoval []string
}

// An Inventory reads and writes the ConfigMap of one installation.
type Inventory struct {
	client  dynamic.ResourceInterface
	options Options

	mu      sync.Mutex     // one change at a time
	program *rules.Program // of the last Extend
}

// New returns the inventory of an installation.
func New(client dynamic.Interface, options Options) *Inventory {
	return &Inventory{client: client.Resource(Resource).Namespace(options.Namespace), options: options}
}

// A Check is what is known of other installations.
type Check struct {
	// Refuses reports whether a rule is refused; nil refuses none.
	Refuses func(*rules.Rule) bool
	// TakenOver lists the installations whose objects are taken over, by rule.
	TakenOver map[string][]string
}

// Extend adds what the program renders. Nothing is added for refused rules.
func (inv *Inventory) Extend(ctx context.Context, program *rules.Program, check Check) error {
	return inv.change(ctx, func(entries map[string]Entry) {
		inv.program = program
		inv.merge(entries, program, check)
	})
}

// Compare returns what is in the inventory and not in the program. It writes
// nothing.
func (inv *Inventory) Compare(ctx context.Context, program *rules.Program) (Orphaned, error) {
	entries, _, err := inv.read(ctx)
	if err != nil {
		return Orphaned{}, inv.describe(err)
	}
	return inv.merge(entries, program, Check{}), nil
}

// Entries returns the entries by rule. found is false if there is no inventory.
func (inv *Inventory) Entries(ctx context.Context) (entries map[string]Entry, found bool, err error) {
	entries, stored, err := inv.read(ctx)
	return entries, stored != nil, inv.describe(err)
}

// RemoveKind removes a kind from a rule's entry, unless the rule of the last
// Extend renders it: the caller may follow an older program.
func (inv *Inventory) RemoveKind(ctx context.Context, rule string, gvk schema.GroupVersionKind) error {
	return inv.change(ctx, func(entries map[string]Entry) {
		entry, ok := entries[rule]
		if !ok || inv.renders(rule, gvk) {
			return
		}
		entry.Children = slices.DeleteFunc(slices.Clone(entry.Children), func(s string) bool { return s == formatKind(gvk) })
		entries[rule] = entry
	})
}

// RemoveRule removes the entry of a removed rule of which nothing is left, unless
// the rule has come back.
func (inv *Inventory) RemoveRule(ctx context.Context, r RemovedRule) error {
	return inv.change(ctx, func(entries map[string]Entry) {
		entry, ok := entries[r.Name]
		switch {
		case !ok:
			return
		case entry.For != r.For:
			entry.Earlier = slices.DeleteFunc(slices.Clone(entry.Earlier), func(e Entry) bool { return e.For == r.For })
		case inv.rule(r.Name) == nil:
			entry.Children, entry.Orphans, entry.Delete = []string{}, nil, false
		}
		inv.put(entries, r.Name, entry)
	})
}

// RemoveFinalizer notes that no primary of the kind carries the finalizer any
// more, unless the rule has come back and sets it again.
func (inv *Inventory) RemoveFinalizer(ctx context.Context, f Finalizer) error {
	return inv.change(ctx, func(entries map[string]Entry) {
		entry, ok := entries[f.Rule]
		if r := inv.rule(f.Rule); !ok || r != nil && r.GVK.GroupKind().String() == f.Kind {
			return
		}
		if entry.For == f.Kind {
			entry.Finalizer = false
		}
		entry.Former = slices.DeleteFunc(slices.Clone(entry.Former), func(k string) bool { return k == f.Kind })
		inv.put(entries, f.Rule, entry)
	})
}

// put changes an entry, or removes it when nothing is left in it.
func (inv *Inventory) put(entries map[string]Entry, rule string, entry Entry) {
	if entries[rule] = entry; entry.isEmpty() && inv.rule(rule) == nil {
		delete(entries, rule)
	}
}

func (inv *Inventory) renders(rule string, gvk schema.GroupVersionKind) bool {
	r := inv.rule(rule)
	return r != nil && slices.ContainsFunc(r.Children, func(c *rules.Child) bool { return c.GVK == gvk })
}

// rule returns a rule of the last Extend, or nil.
func (inv *Inventory) rule(name string) *rules.Rule {
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

// change edits the entries, and starts again when another writer has changed the
// ConfigMap in between.
func (inv *Inventory) change(ctx context.Context, edit func(map[string]Entry)) error {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	const mostTries = 5
	for tries := 1; ; tries++ {
		err := inv.tryChange(ctx, edit)
		raced := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
		if err == nil || tries == mostTries || !raced {
			return inv.describe(err)
		}
	}
}

// tryChange writes nothing if the edit changes nothing.
func (inv *Inventory) tryChange(ctx context.Context, edit func(map[string]Entry)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	entries, stored, err := inv.read(ctx)
	if err != nil {
		return err
	}
	edit(entries)
	data, err := encode(entries)
	if err != nil {
		return err
	}
	configMap := stored
	if stored == nil {
		configMap = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": Name(inv.options.Installation), "namespace": inv.options.Namespace,
				"labels": map[string]any{managedByLabel: managedBy}},
		}}
	}
	if before, _ := Of(configMap); maps.Equal(before.Data, data) {
		return nil
	}
	if err := unstructured.SetNestedStringMap(configMap.Object, data, "data"); err != nil {
		return err
	}
	if stored == nil {
		_, err = inv.client.Create(ctx, configMap, metav1.CreateOptions{FieldManager: inv.options.FieldManager})
	} else {
		_, err = inv.client.Update(ctx, configMap, metav1.UpdateOptions{FieldManager: inv.options.FieldManager})
	}
	return err
}

// read returns the entries and the ConfigMap, which is nil if there is none. A
// damaged entry is an error, and not an empty inventory.
func (inv *Inventory) read(ctx context.Context) (map[string]Entry, *unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	configMap, err := inv.client.Get(ctx, Name(inv.options.Installation), metav1.GetOptions{})
	if answer.IsAbsent(err) {
		return map[string]Entry{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	stored, _ := Of(configMap)
	entries, err := stored.Entries()
	return entries, configMap, err
}

func (inv *Inventory) describe(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("inventory ConfigMap/%s/%s: %w", inv.options.Namespace, Name(inv.options.Installation), err)
}
