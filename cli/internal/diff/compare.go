package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

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
	// Installation is the namespace/name of the installation; "": the one that runs the rules.
	Installation string
	Home         string // the namespace of an installation that the cluster does not show

	// MaxDeletions is that of run; nil: its default.
	MaxDeletions *intstr.IntOrString

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
	stored   *inventory.Stored      // of the installation; nil: not read yet
	given    map[inventory.Key]bool // the rules to compare; nil: all
	selected []selected
	bundles  []*rules.Rule       // that are compared
	left     inventory.Orphaned  // what the rules no longer have
	ran      *inventory.Recorded // the rules that ran last
	preview  *preview.Preview
	changed  []*rules.Rule // that are not those that ran last
	errs     []error       // why the result is incomplete
}

// Compare returns what run would do next.
func Compare(ctx context.Context, o Options) (*Result, error) {
	c := &comparison{Options: o}
	running, err := c.addOthers(ctx)
	if err != nil {
		return nil, err
	}
	schemas, err := c.Judge(ctx, running...)
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
	doers := map[change.Object]change.Doer{}
	compare := func(p *change.Primary) *change.Primary {
		p.Reconcile(ctx, c.preview.Reconcile)
		p.Print()
		return p
	}
	err = change.EachResult(ctx, &c.Source, primaries, compare, func(p *change.Primary) {
		p.RejectDuplicates(doers)
		r.Changes = append(r.Changes, p.Changes...)
		r.Notes = append(r.Notes, p.Notes()...)
		r.fail(p.Errs)
	})
	c.mayHold(r)
	return r, err
}

// prepare selects the primaries, and lists everything that their rules read.
func (c *comparison) prepare(ctx context.Context, schemas *schema.Set) (primaries []*change.Primary, err error) {
	if err := c.selectPrimaries(ctx); err != nil || len(c.selected)+len(c.bundles) == 0 {
		return nil, err
	}
	of := preview.Config{Program: c.Rules.Program, Client: c.client, Kinds: c.Cluster.Kinds,
		Numbers: schemas.NumberFields(c.Rules.Program.UsedKinds()), List: c.list,
		Namespaces: c.Policy.Namespaces, MaxDeletions: c.MaxDeletions}
	if err := c.addInventory(ctx, &of); err != nil {
		return nil, err
	}
	if err := c.addBundles(ctx, of); err != nil {
		return nil, err
	}
	if c.preview, err = preview.NewPreview(ctx, of); err != nil {
		return nil, err
	}
	if err := c.noteLater(ctx); err != nil {
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
	if missing := c.missing(); len(missing) > 0 {
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

// addOthers adds the running rules of other objects to those of single objects, and returns the rules that run.
func (c *comparison) addOthers(ctx context.Context) (running []*rules.Program, err error) {
	if !c.AreSingle() {
		return nil, nil
	}
	c.given = map[inventory.Key]bool{}
	for _, p := range c.Rules.Program.Primaries() {
		for _, r := range p.Rules {
			c.given[inventory.KeyOf(r)] = true
		}
	}
	if err := c.findInventory(ctx); err != nil {
		return nil, err
	}
	if err := c.stored.ReadTexts(ctx, c.Cluster.Client); err != nil {
		c.Note("the text of the running rules cannot be read: %v", err)
	}
	program := c.stored.Running()
	if program != nil {
		running = append(running, program)
	}
	_, err = c.KeepOthers(program, nil)
	return running, err
}

// isGiven reports whether a rule is to be compared.
func (c *comparison) isGiven(r *rules.Rule) bool {
	return c.given == nil || c.given[inventory.KeyOf(r)]
}

// findInventory finds the inventory of the installation.
func (c *comparison) findInventory(ctx context.Context) error {
	if c.stored != nil {
		return nil
	}
	stored, err := c.Inventory(ctx, change.Installation{Named: c.Installation, Home: c.Home, Namespace: c.Namespace},
		c.Rules.Program)
	c.stored = &stored
	return err
}

// addInventory adds the inventory of the installation: run prunes the children of kinds that a rule no
// longer renders. The preview acts as this installation.
func (c *comparison) addInventory(ctx context.Context, of *preview.Config) error {
	if err := c.findInventory(ctx); err != nil {
		return err
	}
	of.Namespace, of.Name = c.stored.Namespace, c.stored.Installation
	s, err := c.stored.Succeed(nil, of.Program)
	c.left, c.ran, of.Orphaned = s.Is, s.Ran, s.Is
	of.Orphaned.Removed = nil // Their cleanup is not compared.
	return err
}

// noteLater notes which of the changes run does not make at once. Whether it holds a change follows only
// from all resources.
func (c *comparison) noteLater(ctx context.Context) error {
	c.changed = c.preview.Changed(c.ran)
	for _, r := range c.changed {
		if r.Rollout.InWaves() {
			c.Note("rule %q has a rollout: run changes its resources one after another", r.Name)
		}
	}
	if !c.isWhole() {
		return nil
	}
	held, err := c.preview.Held(ctx, c.ran)
	for _, h := range held {
		c.Note("run holds this change until it is approved: %s", h.Message)
	}
	return err
}

// isWhole reports whether all resources are compared.
func (c *comparison) isWhole() bool {
	return len(c.Targets) == 0 && c.Selector.Empty() && c.Namespace == ""
}

// mayHold notes which of the changed rules delete something, unless noteLater knows whether run holds them.
func (c *comparison) mayHold(r *Result) {
	for _, rule := range c.changed {
		deletes := func(change change.Change) bool {
			return change.Rule == rule.Name && (change.Action == outcome.Deleted || change.Action == outcome.Replaced ||
				change.Later == outcome.Deleted)
		}
		if !c.isWhole() && slices.ContainsFunc(r.Changes, deletes) {
			r.Notes = append(r.Notes, fmt.Sprintf("rule %q is changed: run holds the change if it deletes too much for all "+
				"resources; reconcel plan tells", rule.Name))
		}
	}
}

// missing names the rules that have objects or marks in the inventory but are not in the
// files. Their cleanup is not compared.
func (c *comparison) missing() (names []string) {
	miss := func(rule, kind string) {
		if slices.ContainsFunc(c.Rules.Program.Primaries(), func(p *rules.Primary) bool { return has(p, rule) }) {
			rule += " for " + kind // It is for other kinds now.
		}
		names = append(names, rule)
	}
	for _, r := range c.left.Removed {
		miss(r.Name, r.For)
	}
	for _, f := range c.left.Finalizers {
		miss(f.Rule, f.Kind)
	}
	for _, r := range c.left.Kept {
		miss(r.Name, r.Kind)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
