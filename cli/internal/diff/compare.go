package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/preview"
	"reconcel/rules"
	"reconcel/rules/schema"
)

// Options say what to compare with which cluster.
type Options struct {
	change.Source
	// Installation is the namespace of the installation if the cluster has no
	// inventory.
	Installation string

	Namespace string // "": all
	Selector  labels.Selector
	Targets   []cluster.Target // none: all
}

// A Result has the changes, in the order of the rules.
type Result struct {
	Changes []change.Change
	Notes   []string // lines for people: everything that is not a difference
	Broken  bool     // some changes are unknown; the notes say why
}

// Any reports whether a change has such an action.
func (r *Result) Any(such func(outcome.Action) bool) bool {
	return slices.ContainsFunc(r.Changes, func(c change.Change) bool { return such(c.Action) })
}

// fail adds errors to the notes.
func (r *Result) fail(errs []error) {
	for _, err := range errs {
		r.Notes, r.Broken = append(r.Notes, fmt.Sprintf("error: %v", err)), true
	}
}

// A comparison is the work of one call of Compare.
type comparison struct {
	Options
	client   *dryrun.Client
	selected []selected
	bundles  []*rules.Rule // that are compared
	preview  *preview.Preview
	errs     []error // why the result is incomplete
}

// Compare returns what run would do next.
func Compare(ctx context.Context, o Options) (*Result, error) {
	c := &comparison{Options: o}
	schemas, err := c.Judge(ctx)
	if err != nil {
		return nil, err
	}
	c.client = c.Client(schemas)
	if c.Local {
		c.Note("without dry runs, the output omits what the API server would add, reject or change")
	}
	primaries, err := c.prepare(ctx, schemas)
	if err != nil {
		return nil, err
	}
	r := &Result{Changes: []change.Change{}, Notes: c.Notes}
	r.fail(c.errs)
	creators := map[change.Object]change.Creator{}
	compare := func(p *change.Primary) *change.Primary {
		p.Reconcile(ctx, c.preview.Reconcile)
		p.Print()
		return p
	}
	return r, change.EachResult(ctx, &c.Source, primaries, compare, func(p *change.Primary) {
		p.RejectDuplicates(creators)
		r.Changes = append(r.Changes, p.Changes...)
		r.Notes = append(r.Notes, p.Notes()...)
		r.fail(p.Errs)
	})
}

// prepare selects the primaries, and lists everything that their rules read.
func (c *comparison) prepare(ctx context.Context, schemas *schema.Set) (primaries []*change.Primary, err error) {
	if err := c.selectPrimaries(ctx); err != nil || len(c.selected)+len(c.bundles) == 0 {
		return nil, err
	}
	of := preview.Config{Program: c.Rules.Program, Client: c.client, Kinds: c.Cluster.Kinds,
		Numbers: schemas.NumberFields(c.Rules.Program.UsedKinds()), List: c.list, Namespace: c.Installation,
		Namespaces: c.Policy.Namespaces}
	if err := c.addInventories(ctx, &of); err != nil {
		return nil, err
	}
	if err := c.addBundles(ctx, of); err != nil {
		return nil, err
	}
	if c.preview, err = preview.NewPreview(ctx, of); err != nil {
		return nil, err
	}
	for _, unread := range c.preview.Unread() {
		isFor := func(s selected) bool {
			return slices.ContainsFunc(unread.Rules, func(rule string) bool { return has(s.rules, rule) })
		}
		if slices.ContainsFunc(c.selected, isFor) {
			c.errs = append(c.errs, unread)
		}
	}
	if missing := c.missing(of.Orphaned); len(missing) > 0 {
		c.Note("not compared: objects of rules that are in the inventory but not in these files: %s",
			strings.Join(missing, ", "))
	}
	for _, s := range c.selected {
		for _, self := range s.objects {
			primaries = append(primaries, change.NewPrimary(s.rules, s.kind, self))
		}
	}
	return primaries, nil
}

func has(p *rules.Primary, rule string) bool {
	return slices.ContainsFunc(p.Rules, func(r *rules.Rule) bool { return r.Name == rule })
}

// addInventories adds the inventories of the cluster: run prunes the children of
// kinds that a rule no longer renders. The user may not be allowed to read them.
// The preview acts as the installation of the first inventory.
func (c *comparison) addInventories(ctx context.Context, of *preview.Config) (err error) {
	all, err := c.Cluster.Inventories(ctx)
	if len(all) > 0 {
		of.Namespace, of.Name = all[0].Namespace, all[0].Installation
	}
	switch {
	case apierrors.IsForbidden(err):
		c.Note("reconcel's inventory cannot be read: children of kinds that a rule no longer has are not compared")
	case err != nil:
		return fmt.Errorf("list configmaps: %w", err)
	}
	of.Orphaned, err = inventory.Recall(all, of.Program)
	return err
}

// missing names the rules that have objects or finalizers in the inventories but are not in the
// files. Their cleanup is not compared.
func (c *comparison) missing(orphaned inventory.Orphaned) (names []string) {
	miss := func(rule, kind string) {
		if slices.ContainsFunc(c.Rules.Program.Primaries(), func(p *rules.Primary) bool { return has(p, rule) }) {
			rule += " for " + kind // It is for other kinds now.
		}
		names = append(names, rule)
	}
	for _, r := range orphaned.Removed {
		miss(r.Name, r.For)
	}
	for _, r := range orphaned.Kept {
		miss(r.Name, r.Kind)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
