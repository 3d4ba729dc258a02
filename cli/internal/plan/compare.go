package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/dryrun"
	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/preview"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// Options say what to compare.
type Options struct {
	change.Source
	// Against has the rules that run; nil: the cluster shows them.
	Against     *rules.Loaded
	AgainstName string
	// Installation is the namespace/name of the installation; "": the one that runs the rules.
	Installation string
	Home         string // the namespace of an installation that the cluster does not show
	// MaxDeletions is that of run; nil: its default.
	MaxDeletions *intstr.IntOrString
	Clock        clock.PassiveClock
}

// A comparison is the work of one call of Compare.
type comparison struct {
	Options
	running running
	preview *preview.Preview
	report  *builder
}

// Compare returns what a reload with other rules does.
func Compare(ctx context.Context, o Options) (*Report, error) {
	c := &comparison{Options: o, report: newBuilder()}
	var err error
	if c.running, err = c.findRunning(ctx); err != nil {
		return nil, err
	}
	var others []*rules.Program
	if c.running.program != nil {
		others = append(others, c.running.program)
	}
	schemas, err := c.Judge(ctx, others...)
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
	c.report.Resources.Reconciled = len(requests)
	c.report.add(cleanup)
	now, before := primariesOf(c.Rules.Program), primariesOf(others...)
	compare := func(r ident.Request) result { return c.compare(ctx, now[r.Kind], before[r.Kind], r) }
	if err := change.EachResult(ctx, &c.Source, requests, compare, c.report.add); err != nil {
		return nil, err
	}
	c.report.fail(c.preview.EachOfEnded(ctx, c.report.ended))
	c.report.Resources.Watched = c.preview.Primaries()
	c.describe(ctx, schemas)
	c.proposeRollouts()
	return c.report.finish(), nil
}

// reload makes the preview of the reload.
func (c *comparison) reload(ctx context.Context, schemas *kindschema.Set) error {
	s, err := c.running.stored.Succeed(c.running.program, c.Rules.Program)
	if err != nil {
		return err
	}
	used := c.Rules.Program.UsedKinds()
	of := preview.Config{
		Program: c.Rules.Program, Orphaned: s.Is, Client: c.Client(schemas), Kinds: c.Cluster.Kinds, List: c.list,
		Clock: c.Clock, ToTheEnd: true, MaxDeletions: c.MaxDeletions,
		Namespace: c.running.stored.Namespace, Name: c.running.stored.Installation, Namespaces: c.Policy.Namespaces,
	}
	if c.running.program != nil {
		maps.Copy(used, c.running.program.UsedKinds())
		of.Program, of.Orphaned = c.running.program, s.Was
	}
	of.Numbers = schemas.NumberFields(used)
	if c.preview, err = preview.NewPreview(ctx, of); err == nil && c.running.program != nil {
		err = c.preview.Reload(ctx, c.Rules.Program, s.Is)
	}
	if err == nil {
		c.report.Held, err = c.preview.Held(ctx, s.Ran)
	}
	return err
}

// list is an engine.Lister.
func (c *comparison) list(ctx context.Context, role watch.Role, k discover.Kind,
	visit func(*unstructured.Unstructured) error) error {
	var options metav1.ListOptions
	if role == watch.Child {
		options.LabelSelector = rules.LabelRule
	}
	from := func(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
		return c.Cluster.Client.Resource(gvr).Namespace(namespace)
	}
	return c.Each(ctx, from, k, []string{metav1.NamespaceAll}, options, visit)
}

// cleanUp returns what the cleanup after removed rules does at once.
func (c *comparison) cleanUp(ctx context.Context) result {
	ctx, recorder := dryrun.Record(ctx)
	paused, errs := c.preview.CleanUp(ctx)
	c.Notes = append(c.Notes, paused...)
	p := change.OfCleanup(ctx, c.Cluster.Kinds, recorder)
	for _, err := range errs {
		recorded := func(w *dryrun.Write) bool { return w.Err != nil && errors.Is(err, w.Err) }
		if !slices.ContainsFunc(recorder.Writes(), recorded) {
			p.Errs = append(p.Errs, err)
		}
	}
	return result{Primary: p}
}

// A result is what happens to one primary.
type result struct {
	*change.Primary
	already int // changes that the running rules make, too
}

func primariesOf(programs ...*rules.Program) map[schema.GroupKind]*rules.Primary {
	all := map[schema.GroupKind]*rules.Primary{}
	for _, program := range programs {
		for _, p := range program.Primaries() {
			all[p.GVK.GroupKind()] = p
		}
	}
	return all
}

// compare returns what happens to one primary besides what the running rules do to it: the
// repair of drift, and what waits or fails already.
func (c *comparison) compare(ctx context.Context, now, before *rules.Primary, req ident.Request) result {
	gvk := now.GVK
	if now.ForCluster() {
		gvk = rules.BundleObject
	}
	k, err := c.Cluster.Find(ctx, gvk)
	if err == nil && k == nil {
		err = fmt.Errorf("kind %s is not served", gvk.Kind)
	}
	if err != nil {
		return result{Primary: &change.Primary{Errs: []error{err}}}
	}
	p := change.PrimaryOf(now, *k, req)
	p.Reconcile(ctx, c.preview.Reconcile)
	if before == nil || len(p.Changes)+len(p.Report.Orphans) == 0 {
		return result{Primary: p}
	}
	old := change.PrimaryOf(before, *k, req)
	old.Reconcile(ctx, c.preview.ReconcileBefore)
	all := len(p.Changes)
	p.Changes = slices.DeleteFunc(p.Changes, func(c change.Change) bool {
		i := slices.IndexFunc(old.Changes, func(o change.Change) bool { return o.Same(&c) })
		if i >= 0 {
			old.Changes = slices.Delete(old.Changes, i, i+1) // One failure does not stand for two.
		}
		return i >= 0
	})
	p.Report.Orphans = slices.DeleteFunc(p.Report.Orphans, func(o access.Orphan) bool {
		return slices.ContainsFunc(old.Report.Orphans, func(other access.Orphan) bool { return other.Object == o.Object })
	})
	return result{p, all - len(p.Changes)}
}
