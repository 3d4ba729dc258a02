package diff

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/output"
	"reconcel/engine"
	"reconcel/engine/inventory"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// Options say what to compare with which cluster.
type Options struct {
	Rules   *rules.Loaded
	Policy  judge.Policy
	Cluster *cluster.Cluster
	// Installation is the namespace of the installation if the cluster has no
	// inventory.
	Installation string

	Namespace string // "": all
	Selector  labels.Selector
	Targets   []cluster.Target // none: all
	Local     bool             // send no dry runs
	Progress  *output.Progress // of the primaries
}

// A Result has the changes, in the order of the rules.
type Result struct {
	Changes []Change
	Notes   []string // lines for people: everything that is not a difference
	Broken  bool     // some changes are unknown; the notes say why
}

// A comparison is the work of one call of Compare.
type comparison struct {
	Options
	client   *dryrun.Client
	selected []selected
	preview  *engine.Preview
	notes    []string
	errs     []error // why the result is incomplete
}

// Compare returns what run would do next.
func Compare(ctx context.Context, o Options) (*Result, error) {
	c := &comparison{Options: o}
	schemas, err := c.judge(ctx)
	if err != nil {
		return nil, err
	}
	kinds := func() (*sim.Kinds, error) { return sim.NewKinds(schemas) }
	c.client = dryrun.New(o.Cluster.Client, kinds)
	if o.Local {
		c.client = dryrun.NewLocal(o.Cluster.Client, kinds)
		c.note("without dry runs, the output omits what the API server would add, reject or change")
	}
	primaries, err := c.prepare(ctx, schemas)
	if err != nil {
		return nil, err
	}
	c.reconcile(ctx, primaries)
	return c.result(primaries), nil
}

func (c *comparison) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// judge returns the schemas of the cluster, or the errors that would keep run from
// starting.
func (c *comparison) judge(ctx context.Context) (*schema.Set, error) {
	j := c.Cluster.Judge(ctx, c.Rules, c.Policy)
	if j.Incomplete != nil {
		c.note("cannot check the rules against all kinds of the cluster: %v", j.Incomplete)
	}
	if j.Kinds == nil {
		return schema.Builtin(), nil
	}
	return j.Kinds, j.Err()
}

// prepare selects the primaries, and lists everything that their rules read.
func (c *comparison) prepare(ctx context.Context, schemas *schema.Set) (primaries []*Primary, err error) {
	if some, err := c.selectPrimaries(ctx); err != nil || !some {
		return nil, err
	}
	of := engine.PreviewOf{Program: c.Rules.Program, Client: c.client, Kinds: c.Cluster.Kinds, Numbers: schemas.NumberFields(c.Rules.Program.UsedKinds()), List: c, Namespace: c.Installation, Namespaces: c.Policy.Namespaces}
	if err := c.addInventories(ctx, &of); err != nil {
		return nil, err
	}
	if err := c.addBundles(ctx, of); err != nil {
		return nil, err
	}
	if c.preview, err = engine.NewPreview(ctx, of); err != nil {
		return nil, err
	}
	for _, unread := range c.preview.Unread() {
		if slices.ContainsFunc(unread.Rules, c.isSelected) {
			c.errs = append(c.errs, unread)
		}
	}
	if missing := c.preview.Missing(); len(missing) > 0 {
		c.note("not compared: objects of rules that are in the inventory but not in these files: %s", strings.Join(missing, ", "))
	}
	for _, s := range c.selected {
		for _, self := range s.objects {
			p := NewPrimary(s.rules, s.kind, engine.Request{
				Kind: s.rules.GVK.GroupKind(), Namespace: self.GetNamespace(), Name: self.GetName(), UID: rules.UIDOf(s.rules.GVK.GroupKind(), self),
			})
			p.ending = self.GetDeletionTimestamp() != nil
			primaries = append(primaries, p)
		}
	}
	return primaries, nil
}

// isSelected reports whether a rule is for a resource that is compared.
func (c *comparison) isSelected(rule string) bool {
	return slices.ContainsFunc(c.selected, func(s selected) bool {
		return slices.ContainsFunc(s.rules.Rules, func(r *rules.Rule) bool { return r.Name == rule })
	})
}

// addInventories adds the inventories of the cluster: run prunes the children of
// kinds that a rule no longer renders. The user may not be allowed to read them.
// The preview acts as the installation of the first inventory.
func (c *comparison) addInventories(ctx context.Context, of *engine.PreviewOf) error {
	err := c.eachIn(ctx, inventory.Resource, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: inventory.Selector}, func(u *unstructured.Unstructured) error {
		stored, ok := inventory.Of(u)
		if !ok {
			return nil
		}
		of.Inventories = append(of.Inventories, stored)
		if len(of.Inventories) == 1 {
			of.Namespace, of.Name = stored.Namespace, stored.Installation
		}
		return nil
	})
	if apierrors.IsForbidden(err) {
		c.note("reconcel's inventory cannot be read: children of kinds that a rule no longer has are not compared")
		return nil
	}
	return err
}

// reconcile compares several primaries at a time, because each of them mostly
// waits for responses.
func (c *comparison) reconcile(ctx context.Context, primaries []*Primary) {
	c.Progress.Total.Store(int64(len(primaries)))
	workqueue.ParallelizeUntil(ctx, 4*runtime.GOMAXPROCS(0), len(primaries), func(i int) {
		primaries[i].Reconcile(ctx, c.preview.Reconcile)
		primaries[i].print()
		c.Progress.Step()
	})
}

// result collects the changes of all primaries.
func (c *comparison) result(primaries []*Primary) *Result {
	r := &Result{Changes: []Change{}, Notes: c.notes}
	broken := func(errs []error) {
		for _, err := range errs {
			r.Notes, r.Broken = append(r.Notes, fmt.Sprintf("error: %v", err)), true
		}
	}
	broken(c.errs)
	creators := map[Object]Creator{}
	for _, p := range primaries {
		p.RejectDuplicates(creators)
		r.Changes = append(r.Changes, p.Changes...)
		r.Notes = append(r.Notes, p.notes()...)
		broken(p.Errs)
	}
	return r
}
