package plan

import (
	"context"
	"fmt"
	"maps"
	"runtime"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/diff"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/output"
	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
	"reconcel/sim"
)

// Options say what to compare.
type Options struct {
	Rules   *rules.Loaded
	Policy  judge.Policy
	Cluster *cluster.Cluster
	// Schemas are the kinds of a cluster without an API server; nil: it is asked.
	Schemas *kindschema.Set
	// Against has the rules that run; nil: the cluster shows them.
	Against     *rules.Loaded
	AgainstName string
	// Installation is the namespace/name of the installation; "": the only one.
	Installation string
	Local        bool // send no dry runs
	Clock        clock.PassiveClock
	Progress     *output.Progress // of the primaries
}

// A comparison is the work of one call of Compare.
type comparison struct {
	Options
	running running
	preview *engine.Preview
	report  *builder
	notes   []string
}

func (c *comparison) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// programs returns the rules before and after, as far as they are known.
func (c *comparison) programs() (all []*rules.Program) {
	if c.Against != nil {
		all = append(all, c.Against.Program)
	}
	return append(all, c.Rules.Program)
}

// Compare returns what a reload with other rules does.
func Compare(ctx context.Context, o Options) (*Report, error) {
	c := &comparison{Options: o, report: newBuilder()}
	var err error
	if c.running, err = c.findRunning(ctx); err != nil {
		return nil, err
	}
	schemas, err := c.judge(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.reload(ctx, schemas); err != nil {
		return nil, err
	}
	for _, unread := range c.preview.Unread() {
		c.report.Errors = append(c.report.Errors, unread.Error())
	}
	cleanup := c.cleanUp(ctx)
	requests := c.preview.Requests()
	c.report.Resources.Watched, c.report.Resources.Reconciled = c.preview.Primaries(), len(requests)
	c.report.add(cleanup)
	if err := c.reconcile(ctx, requests); err != nil {
		return nil, err
	}
	if err := c.preview.EachOfEnded(ctx, c.report.ended); err != nil {
		c.report.Errors = append(c.report.Errors, err.Error())
	}
	c.describe(ctx, schemas)
	c.proposeRollouts()
	return c.report.finish(), nil
}

// judge returns the schemas of the cluster, or the errors that would keep run from
// accepting the rules.
func (c *comparison) judge(ctx context.Context) (*kindschema.Set, error) {
	if c.Schemas != nil {
		return c.Schemas, judge.Of(c.Rules, c.Schemas, c.Policy).Err()
	}
	var others []*rules.Program
	if c.running.program != nil {
		others = append(others, c.running.program)
	}
	j := c.Cluster.Judge(ctx, c.Rules, c.Policy, others...)
	if j.Incomplete != nil {
		c.note("cannot check the rules against all kinds of the cluster: %v", j.Incomplete)
	}
	if j.Kinds == nil {
		return kindschema.Builtin(), nil
	}
	return j.Kinds, j.Err()
}

// reload makes the preview of the reload.
func (c *comparison) reload(ctx context.Context, schemas *kindschema.Set) error {
	kinds := func() (*sim.Kinds, error) { return sim.NewKinds(schemas) }
	client := dryrun.New(c.Cluster.Client, kinds)
	if c.Local {
		client = dryrun.NewLocal(c.Cluster.Client, kinds)
	}
	s, err := c.running.stored.Succeed(c.running.program, c.Rules.Program)
	if err != nil {
		return err
	}
	of := engine.PreviewOf{
		Program: c.Rules.Program, Orphaned: &s.Is, Client: client, Kinds: c.Cluster.Kinds, Numbers: schemas.NumberFields(c.usedKinds()), List: lister{c.Cluster, c.Policy.Namespaces}, Clock: c.Clock, ToTheEnd: true,
		Namespace: c.running.stored.Namespace, Name: c.running.stored.Installation, Namespaces: c.Policy.Namespaces,
	}
	if c.running.program != nil {
		of.Program, of.Orphaned = c.running.program, &s.Was
	}
	if c.preview, err = engine.NewPreview(ctx, of); err == nil && c.running.program != nil {
		err = c.preview.Reload(ctx, c.Rules.Program, s.Is)
	}
	if err == nil {
		c.report.Held, err = c.preview.Held(ctx, s.Ran)
	}
	return err
}

// usedKinds are the kinds of the rules before and after the change.
func (c *comparison) usedKinds() map[runtimeschema.GroupVersionKind]bool {
	used := c.Rules.Program.UsedKinds()
	if c.running.program != nil {
		maps.Copy(used, c.running.program.UsedKinds())
	}
	return used
}

// cleanUp returns what the cleanup after removed rules does at once.
func (c *comparison) cleanUp(ctx context.Context) result {
	ctx, recorder := dryrun.Record(ctx)
	c.notes = append(c.notes, c.preview.CleanUp(ctx)...)
	changes, errs := diff.OfCleanup(recorder)
	return result{changes: changes, errs: errs}
}

// A result is what happens to one primary.
type result struct {
	primary *diff.Primary
	changes []diff.Change
	orphans []engine.Orphan
	errs    []error
	already int // changes that the running rules make, too
}

// chunk is the number of primaries that are compared before their changes are added to the
// report. It bounds the number of whole objects in memory.
const chunk = 64

// reconcile compares the primaries, several at a time, and reports them in order.
func (c *comparison) reconcile(ctx context.Context, requests []engine.Request) error {
	c.Progress.Total.Store(int64(len(requests)))
	now, before := primariesOf(c.Rules.Program), map[string]*rules.Primary{}
	if c.running.program != nil {
		before = primariesOf(c.running.program)
	}
	for len(requests) > 0 {
		n := min(chunk, len(requests))
		results := make([]result, n)
		workqueue.ParallelizeUntil(ctx, 4*runtime.GOMAXPROCS(0), n, func(i int) {
			kind := requests[i].Kind.String()
			results[i] = c.compare(ctx, now[kind], before[kind], requests[i])
			c.Progress.Step()
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, r := range results {
			c.report.add(r)
		}
		requests = requests[n:]
	}
	return nil
}

func primariesOf(program *rules.Program) map[string]*rules.Primary {
	all := map[string]*rules.Primary{}
	for _, p := range program.Primaries() {
		all[p.GVK.GroupKind().String()] = p
	}
	return all
}

// compare returns what happens to one primary besides what the running rules do to it.
func (c *comparison) compare(ctx context.Context, now, before *rules.Primary, req engine.Request) result {
	k, err := c.kind(ctx, now)
	if err != nil {
		return result{errs: []error{err}}
	}
	p := diff.NewPrimary(now, k, req)
	p.Reconcile(ctx, c.preview.Reconcile)
	r := result{primary: p, changes: p.Changes, orphans: p.Report.Orphans, errs: p.Errs}
	if before != nil && (len(r.changes) > 0 || len(r.orphans) > 0) {
		old := diff.NewPrimary(before, k, req)
		old.Reconcile(ctx, c.preview.ReconcileBefore)
		r.without(old)
	}
	return r
}

func (c *comparison) kind(ctx context.Context, p *rules.Primary) (discover.Kind, error) {
	gvk := p.GVK
	if p.ForCluster() {
		gvk = rules.BundleObject
	}
	k, err := c.Cluster.Find(ctx, gvk)
	if err == nil && k == nil {
		err = fmt.Errorf("kind %s is not served", gvk.Kind)
	}
	if err != nil {
		return discover.Kind{}, err
	}
	return *k, nil
}
