package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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
	// DryRun: changes have no effect.
	DryRun bool
}

// An Inventory reads and writes the ConfigMap of one installation.
type Inventory struct {
	client  dynamic.ResourceInterface
	options Options
	texts   textStore

	mu      sync.Mutex     // one change at a time
	program *rules.Program // of the last Extend
	next    []*rules.Rule  // of the last Extend

	last atomic.Pointer[content] // as last written, or read since; nil: not yet
}

// New returns the inventory of an installation.
func New(client dynamic.Interface, options Options) *Inventory {
	configMaps := client.Resource(Resource).Namespace(options.Namespace)
	return &Inventory{client: configMaps, options: options, texts: textStore{client: configMaps, options: options}}
}

// A Check is what is known of other installations.
type Check struct {
	// Refuses reports whether a rule is refused; nil refuses none.
	Refuses func(*rules.Rule) bool
	// TakenOver lists the installations whose objects are taken over, by rule.
	TakenOver map[string][]string
	// Next are other versions of rules, which some primaries have or are about to get.
	Next []*rules.Rule
	// Used are approvals of changes that now take effect.
	Used []string
	// Held are rules that stay as they are, although they may not be loaded any more.
	Held map[Key]HeldChange
	// Rollouts are all that go on, by the kind of their primaries.
	Rollouts map[string]Rollout
}

// Extend adds what the program renders. Nothing is added for refused rules.
func (inv *Inventory) Extend(ctx context.Context, program *rules.Program, check Check) error {
	return inv.change(ctx, func(c *content) error {
		inv.program, inv.next = program, check.Next
		named := c.revisions()
		inv.merge(c.entries, program, check)
		for _, r := range check.Next {
			c.entries[KeyOf(r)] = c.entries[KeyOf(r)].with(r)
		}
		c.approved = slices.DeleteFunc(c.approved, func(hash string) bool { return slices.Contains(check.Used, hash) })
		c.held = nil
		for _, key := range slices.SortedFunc(maps.Keys(check.Held), CompareKeys) {
			c.held = append(c.held, check.Held[key])
		}
		maps.DeleteFunc(c.rollouts, func(kind string, r Rollout) bool { return check.Rollouts[kind].To != r.To })
		for kind, r := range check.Rollouts {
			if _, known := c.rollouts[kind]; !known {
				c.rollouts[kind] = r
			}
		}
		kept, err := inv.texts.keep(ctx, program, append(named, c.revisions()...))
		if kept {
			c.refer(program)
		}
		return err
	})
}

// Compare returns what is in the inventory and not in the program. It writes
// nothing.
func (inv *Inventory) Compare(ctx context.Context, program *rules.Program) (Orphaned, error) {
	c, _, err := inv.read(ctx)
	if err != nil {
		return Orphaned{}, inv.describe(err)
	}
	return inv.merge(c.entries, program, Check{}), nil
}

// Recorded returns what the inventory has of the rules that ran last, without their texts.
func (inv *Inventory) Recorded(ctx context.Context) (*Recorded, error) {
	c, _, err := inv.read(ctx)
	if err != nil {
		return nil, inv.describe(err)
	}
	return c.recorded(nil), nil
}

// Entries returns all entries. found is false if there is no inventory.
func (inv *Inventory) Entries(ctx context.Context) (entries map[Key]Entry, found bool, err error) {
	c, stored, err := inv.read(ctx)
	return c.entries, stored != nil, inv.describe(err)
}

// RemoveKind removes a kind, in all its versions, from a rule's entry, unless a version of the rule of the
// last Extend renders it: the caller may follow an older program.
func (inv *Inventory) RemoveKind(ctx context.Context, of Key, gvk schema.GroupVersionKind) error {
	return inv.change(ctx, func(c *content) error {
		entry, ok := c.entries[of]
		if ok && !inv.renders(of, gvk.GroupKind()) {
			entry.Children = slices.DeleteFunc(slices.Clone(entry.Children),
				func(s string) bool { return parseKind(s).GroupKind() == gvk.GroupKind() })
			c.entries[of] = entry
		}
		return nil
	})
}

// RemoveRule removes the entry of a removed rule of which nothing is left, unless
// the rule has come back.
func (inv *Inventory) RemoveRule(ctx context.Context, r RemovedRule) error {
	return inv.change(ctx, func(c *content) error {
		entry, ok := c.entries[r.key()]
		if ok && inv.rule(r.key()) == nil {
			entry.Children, entry.Orphans, entry.Delete = []string{}, nil, false
			put(c.entries, r.key(), entry)
		}
		return nil
	})
}

// RemoveFinalizer notes that no primary of the kind carries the finalizer any
// more, unless the rule has come back and sets it again.
func (inv *Inventory) RemoveFinalizer(ctx context.Context, f Finalizer) error {
	return inv.change(ctx, func(c *content) error {
		entry, ok := c.entries[f.key()]
		if ok && inv.rule(f.key()) == nil {
			entry.Finalizer = false
			put(c.entries, f.key(), entry)
		}
		return nil
	})
}

// ErrNotHeld says that no change has a hash.
var ErrNotHeld = errors.New("no such change is held")

// Approve records that a user approves a change that is held.
func (inv *Inventory) Approve(ctx context.Context, hash string) error {
	return inv.change(ctx, func(c *content) error {
		if !slices.ContainsFunc(c.held, func(h HeldChange) bool { return h.Hash == hash }) {
			return ErrNotHeld
		}
		if !slices.Contains(c.approved, hash) {
			c.approved = append(c.approved, hash)
		}
		return nil
	})
}

// SetRollout changes the state of a rollout as a user asks for.
func (inv *Inventory) SetRollout(ctx context.Context, kind string, state RolloutState) error {
	return inv.EditRollouts(ctx, func(all map[string]Rollout) error {
		r, known := all[kind]
		if !known {
			return fmt.Errorf("no rollout of %s is in progress", kind)
		}
		if r.State, r.Message = state, ""; state == Undone {
			r.Reached, r.Updated = 0, 0
		}
		all[kind] = r
		return nil
	})
}

// EditRollouts changes the rollouts by the kind of their primaries. edit may be called again.
func (inv *Inventory) EditRollouts(ctx context.Context, edit func(map[string]Rollout) error) error {
	return inv.change(ctx, func(c *content) error { return edit(c.rollouts) })
}

// put changes the entry of a rule that is not loaded, or removes it when nothing is left
// in it.
func put(entries map[Key]Entry, of Key, entry Entry) {
	if entries[of] = entry; len(entry.Children) == 0 && !entry.Delete && !entry.Finalizer {
		delete(entries, of)
	}
}

func (inv *Inventory) renders(of Key, gk schema.GroupKind) bool {
	versions := slices.Clone(inv.next)
	if r := inv.rule(of); r != nil {
		versions = append(versions, r)
	}
	return slices.ContainsFunc(versions, func(r *rules.Rule) bool {
		return KeyOf(r) == of && slices.ContainsFunc(r.ChildKinds(),
			func(gvk schema.GroupVersionKind) bool { return gvk.GroupKind() == gk })
	})
}

// rule returns a rule of the last Extend, or nil.
func (inv *Inventory) rule(of Key) *rules.Rule {
	if inv.program == nil {
		return nil
	}
	for _, p := range inv.program.Primaries() {
		for _, r := range p.Rules {
			if KeyOf(r) == of {
				return r
			}
		}
	}
	return nil
}

// Unrecorded returns the inventory of a preview, which remembers nothing.
func Unrecorded() *Inventory { return &Inventory{} }

// change edits the entries, and starts again when another writer has changed the
// ConfigMap in between.
func (inv *Inventory) change(ctx context.Context, edit func(*content) error) error {
	if inv.client == nil {
		return nil
	}
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
func (inv *Inventory) tryChange(ctx context.Context, edit func(*content) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, stored, err := inv.read(ctx)
	if err != nil {
		return err
	}
	if err := edit(&c); err != nil || inv.options.DryRun {
		return err
	}
	if stored == nil {
		_, err = inv.create(ctx, &c)
	} else {
		_, err = inv.update(ctx, &c, stored)
	}
	if err == nil {
		inv.last.Store(&c)
	}
	return err
}

// update replaces the content of the ConfigMap, unless it has the same one, and reports whether it did.
func (inv *Inventory) update(ctx context.Context, c *content, stored *unstructured.Unstructured) (changed bool,
	err error) {
	if changed, err = c.fill(stored); err != nil || !changed {
		return false, err
	}
	now, err := inv.client.Update(ctx, stored, metav1.UpdateOptions{FieldManager: inv.options.FieldManager})
	if err == nil {
		c.version = now.GetResourceVersion()
	}
	return err == nil, err
}

// create creates the ConfigMap, unless there is nothing to record, and reports whether it did.
func (inv *Inventory) create(ctx context.Context, c *content) (created bool, err error) {
	configMap := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": Name(inv.options.Installation), "namespace": inv.options.Namespace,
			"labels": map[string]any{rules.LabelManagedBy: rules.ManagedBy}},
	}}
	if changed, err := c.fill(configMap); err != nil || !changed {
		return false, err
	}
	now, err := inv.client.Create(ctx, configMap, metav1.CreateOptions{FieldManager: inv.options.FieldManager})
	if err == nil {
		c.version = now.GetResourceVersion()
	}
	return err == nil, err
}

// Restore creates the ConfigMap again, as it was last seen, if it was deleted, and adds what it has lost if it was
// replaced by an older one. It reports whether it did. Without it, the next process would not know the kinds of removed
// children.
func (inv *Inventory) Restore(ctx context.Context) (restored bool, err error) {
	if inv.client == nil || inv.options.DryRun {
		return false, nil
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if inv.last.Load() == nil {
		return false, nil
	}
	c, stored, err := inv.read(ctx)
	if err != nil {
		return false, inv.describe(err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if stored == nil {
		restored, err = inv.create(ctx, &c)
		return restored, inv.describe(err)
	}
	c.regain(inv.last.Load())
	if restored, err = inv.update(ctx, &c, stored); err == nil {
		inv.last.Store(&c)
	}
	return restored, inv.describe(err)
}

// read returns the content and the ConfigMap, which is nil if it does not exist. If it was deleted while this
// process runs, the content is the last one. A damaged entry is an error, and not an empty inventory.
func (inv *Inventory) read(ctx context.Context) (content, *unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	configMap, err := inv.client.Get(ctx, Name(inv.options.Installation), metav1.GetOptions{})
	if answer.IsAbsent(err) {
		return inv.last.Load().clone(), nil, nil
	}
	if err != nil {
		return content{}, nil, err
	}
	version := configMap.GetResourceVersion()
	if last := inv.last.Load(); last != nil && last.version == version && version != "" {
		return last.clone(), configMap, nil
	}
	stored, _ := Of(configMap)
	c, err := stored.content()
	c.version = version
	return c, configMap, err
}

func (inv *Inventory) describe(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("inventory ConfigMap/%s/%s: %w", inv.options.Namespace, Name(inv.options.Installation), err)
}
