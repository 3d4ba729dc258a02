package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/output"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// Running are the rules that run now.
type running struct {
	stored  inventory.Stored // of the installation
	program *rules.Program   // nil: the text of the rules is unknown
	active  map[string]string
	from    string // where the rules come from
}

// findRunning returns the rules that run now, as far as the cluster shows them.
func (c *comparison) findRunning(ctx context.Context) (r running, err error) {
	if r.stored, err = c.installation(ctx); err != nil {
		return r, err
	}
	if r.active, err = r.stored.Active(); err != nil {
		return r, err
	}
	if c.Against != nil {
		r.program, r.from = c.Against.Program, c.AgainstName
		if others := differing(r.program, r.active); len(r.active) > 0 && len(others) > 0 {
			c.note("other rules than those of %s run in the cluster: %s", c.AgainstName, strings.Join(others, ", "))
		}
		return r, nil
	}
	if err := r.stored.ReadTexts(ctx, c.Cluster.Client); err != nil {
		c.note("the text of the running rules cannot be read: %v", err)
	}
	r.program, r.from = r.stored.Running(), "the rules that run"
	switch {
	case r.program != nil:
	case len(r.active) > 0:
		r.from = "the live state, and the digests of the running rules"
	default:
		r.from = "the live state"
	}
	return r, nil
}

// installation returns the inventory of the installation.
func (c *comparison) installation(ctx context.Context) (inventory.Stored, error) {
	var all []inventory.Stored
	var names []string
	client := c.Cluster.Client.Resource(inventory.Resource).Namespace(metav1.NamespaceAll)
	err := cluster.ForEach(ctx, client, metav1.ListOptions{LabelSelector: inventory.Selector}, func(u *unstructured.Unstructured) {
		stored, ok := inventory.Of(u)
		if name := stored.Namespace + "/" + stored.Installation; ok && (c.Installation == "" || c.Installation == name) {
			all, names = append(all, stored), append(names, name)
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		c.note("reconcel's inventory cannot be read: what removed rules leave behind is unknown")
		return c.withoutInventory(ctx)
	case err != nil:
		return inventory.Stored{}, fmt.Errorf("list inventories: %w", err)
	case len(all) > 1:
		return inventory.Stored{}, exit.Misused("there are several installations: choose one with --installation: %s", strings.Join(names, ", "))
	case len(all) == 1:
		return all[0], nil
	case c.Installation != "":
		return inventory.Stored{}, exit.Failure(fmt.Errorf("installation %s not found: there is no ConfigMap with its inventory", c.Installation))
	}
	return c.withoutInventory(ctx)
}

// withoutInventory returns an empty inventory for the installation that a child names.
func (c *comparison) withoutInventory(ctx context.Context) (inventory.Stored, error) {
	stored := inventory.Stored{Namespace: "default", Installation: "reconcel"}
	mark := c.Installation
	for _, program := range c.programs() {
		for _, primary := range program.Primaries() {
			for _, rule := range primary.Rules {
				for _, child := range rule.Children {
					if mark == "" {
						mark = c.markOf(ctx, child.GVK)
					}
				}
			}
		}
	}
	if namespace, name, ok := strings.Cut(mark, "/"); ok {
		stored.Namespace, stored.Installation = namespace, name
	}
	return stored, nil
}

// markOf returns the installation in the annotation of some child of a kind, or "".
func (c *comparison) markOf(ctx context.Context, gvk schema.GroupVersionKind) string {
	k, err := c.Cluster.Find(ctx, gvk)
	if k == nil || err != nil {
		return ""
	}
	page, err := c.Cluster.Client.Resource(k.GVR).List(ctx, metav1.ListOptions{LabelSelector: rules.LabelRule, Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return ""
	}
	return page.Items[0].GetAnnotations()[rules.AnnotationInstallation]
}

// differing names the rules that are not the same in a program and among digests.
func differing(program *rules.Program, active map[string]string) (names []string) {
	there := inventory.Digests(program)
	for name, digest := range there {
		if active[name] != digest {
			names = append(names, name)
		}
	}
	for name := range active {
		if there[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// rulesChange compares the names and digests of rules.
func (r *running) rulesChange(program *rules.Program) *RulesChange {
	before, after := r.active, inventory.Digests(program)
	if r.program != nil {
		before = inventory.Digests(r.program)
	}
	if len(before) == 0 {
		return nil
	}
	change := &RulesChange{}
	for _, name := range rulesIn(program) {
		switch before[name] {
		case "":
			change.Added = append(change.Added, name)
		case after[name]:
			change.Unchanged++
		default:
			change.Changed = append(change.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == "" {
			change.Removed = append(change.Removed, name)
		}
	}
	return change
}

// rulesIn returns the names of a program's rules in their order.
func rulesIn(program *rules.Program) (names []string) {
	for _, primary := range program.Primaries() {
		for _, rule := range primary.Rules {
			if !slices.Contains(names, rule.Name) {
				names = append(names, rule.Name)
			}
		}
	}
	return names
}

// String returns the change in a few words.
func (c *RulesChange) String() string {
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", c.Added}, {"changed", c.Changed}, {"removed", c.Removed}} {
		if len(part.names) > 0 {
			parts = append(parts, output.Plural(len(part.names), "rule")+" "+part.what+" ("+strings.Join(part.names, ", ")+")")
		}
	}
	if c.Unchanged > 0 || len(parts) == 0 {
		parts = append(parts, output.Plural(c.Unchanged, "rule")+" unchanged")
	}
	return strings.Join(parts, ", ")
}
