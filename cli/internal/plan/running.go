package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
		if d := changeOf(r.active, r.program); d != nil && len(d.Added)+len(d.Changed)+len(d.Removed) > 0 {
			others := slices.Sorted(slices.Values(slices.Concat(d.Added, d.Changed, d.Removed)))
			c.Note("other rules than those of %s run in the cluster: %s", c.AgainstName, strings.Join(others, ", "))
		}
		return r, nil
	}
	if err := r.stored.ReadTexts(ctx, c.Cluster.Client); err != nil {
		c.Note("the text of the running rules cannot be read: %v", err)
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
	var names []string
	all, err := c.Cluster.Inventories(ctx)
	all = slices.DeleteFunc(all, func(stored inventory.Stored) bool {
		name := stored.Namespace + "/" + stored.Installation
		names = append(names, name)
		return c.Installation != "" && c.Installation != name
	})
	switch {
	case apierrors.IsForbidden(err):
		c.Note("reconcel's inventory cannot be read: what removed rules leave behind is unknown")
		return c.withoutInventory(ctx)
	case err != nil:
		return inventory.Stored{}, fmt.Errorf("list inventories: %w", err)
	case len(all) > 1:
		return inventory.Stored{}, exit.Misused("there are several installations: choose one with --installation: %s",
			strings.Join(names, ", "))
	case len(all) == 1:
		return all[0], nil
	case c.Installation != "":
		return inventory.Stored{}, exit.Failure(
			fmt.Errorf("installation %s not found: there is no ConfigMap with its inventory", c.Installation))
	}
	return c.withoutInventory(ctx)
}

// withoutInventory returns an empty inventory for the installation that a child names.
func (c *comparison) withoutInventory(ctx context.Context) (inventory.Stored, error) {
	stored := inventory.Stored{Namespace: "default", Installation: "reconcel"}
	mark := c.Installation
	programs := []*rules.Program{c.Rules.Program}
	if c.Against != nil {
		programs = []*rules.Program{c.Against.Program, c.Rules.Program}
	}
	for _, program := range programs {
		for _, primary := range program.Primaries() {
			for _, rule := range primary.Rules {
				for _, gvk := range rule.ChildKinds() {
					if mark == "" {
						mark = c.markOf(ctx, gvk)
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

// change returns what differs between the rules that run and others, or nil if that is not known.
func (r *running) change(program *rules.Program) *RulesChange {
	if r.program != nil {
		return changeOf(inventory.Digests(r.program), program)
	}
	return changeOf(r.active, program)
}

// changeOf compares the names and digests of rules, or returns nil without any before.
func changeOf(before map[string]string, program *rules.Program) *RulesChange {
	if len(before) == 0 {
		return nil
	}
	c, after := &RulesChange{}, inventory.Digests(program)
	seen := map[string]bool{} // A rule may be for several kinds.
	for _, primary := range program.Primaries() {
		for _, rule := range primary.Rules {
			switch name := rule.Name; {
			case seen[name]:
			case before[name] == "":
				c.Added = append(c.Added, name)
			case before[name] == after[name]:
				c.Unchanged++
			default:
				c.Changed = append(c.Changed, name)
			}
			seen[rule.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == "" {
			c.Removed = append(c.Removed, name)
		}
	}
	return c
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
