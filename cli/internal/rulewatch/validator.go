package rulewatch

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/judge"
	"reconcel/deploy"
	"reconcel/engine/discover"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// A Validator judges rules with the schemas of the cluster: before they become
// active, and again when a schema changes. It reports active rules that are no
// longer valid; they stay active.
type Validator struct {
	Config  *rest.Config
	Policy  judge.Policy
	Log     *slog.Logger
	Metrics *Metrics
	Report  func(note string) // records that active rules are invalid
	// Learn is told the schemas of each judgement, with the rules. It may be nil.
	Learn func(*kindschema.Set, *rules.Program)
	// DryRun is told the schemas, too. With it, the process needs none of the permissions to write. It may be nil.
	DryRun func(*kindschema.Set)

	checked  result           // the result of the last Check
	by       discover.Schemas // the schemas of the last judgement of the active rules
	retry    time.Time        // when to judge again without a change; zero: never
	all      time.Time        // when to judge all active rules after their changes were judged; zero: never
	reported string           // errors about the active rules that were reported last
	invalid  []error          // the same, one by one
	warned   []string         // warnings of the last judgement

	missing    atomic.Pointer[[]deploy.Access] // as last reviewed; nil: not reviewed
	stop       func()                          // ends the review of permissions
	unreviewed bool                            // the needs of the rules were not known
}

// A result is a judgement with the permissions that the rules need.
type result struct {
	cluster.Judgement
	needed []deploy.Access // nil: not known
}

func (r *result) complete() bool { return r.Kinds != nil && r.Incomplete == nil }

// Check returns the errors of rules. A kind that the cluster does not serve is not
// an error, because it may come later. A cluster that does not respond is not one
// either, because the engine waits for it.
//
// Of the next version of valid rules, it judges only those that have changed: a folder may have
// many. All are judged judgeAllAfter later, once for all changes until then.
func (v *Validator) Check(ctx context.Context, l *rules.Loaded) error {
	var accepted discover.Schemas
	if v.reported == "" && v.retry.IsZero() {
		accepted = v.by
	}
	v.checked = v.judge(ctx, l, accepted)
	return v.checked.Err()
}

// postpone forgets the last Check: rules that it has not judged become active, and are judged later.
func (v *Validator) postpone() { v.checked = result{Judgement: cluster.Judgement{Partial: true}} }

// activated records that the rules of the last Check are active, and reviews the
// permissions that they need.
func (v *Validator) activated(ctx context.Context) {
	if !v.checked.Partial {
		v.reported, v.invalid = "", nil
	}
	v.note(v.checked)
	if v.reported == "" {
		v.Metrics.valid.Set(1)
	}
	v.review(ctx, v.checked.needed)
	v.checked = result{}
}

// note records the schemas that judged the active rules.
func (v *Validator) note(r result) {
	v.by, v.retry = r.By, time.Time{}
	switch {
	case r.Partial && r.By == nil: // see postpone
		v.retry = time.Now()
	case !r.Partial && !r.complete():
		v.retry = time.Now().Add(recheckEvery)
	}
	switch {
	case !r.Partial:
		v.all = time.Time{}
	case v.all.IsZero():
		v.all = time.Now().Add(judgeAllAfter)
	}
}

// outdated reports whether active rules must be judged again, because the schema of
// one of their kinds has changed or could not be read.
func (v *Validator) outdated(l *rules.Loaded, now discover.Schemas) bool {
	if !v.retry.IsZero() {
		return time.Now().After(v.retry)
	}
	if !v.all.IsZero() && time.Now().After(v.all) {
		return true
	}
	return !v.by.Agree(now, cluster.Versions(l.Program))
}

// recheck judges active rules again, and reports new errors. It recovers from a
// panic, so that the active rules keep running.
func (v *Validator) recheck(ctx context.Context, l *rules.Loaded) {
	defer func() {
		if p := recover(); p != nil {
			v.Log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			v.retry = time.Now().Add(recheckEvery)
		}
	}()
	r := v.judge(ctx, l, nil)
	v.note(r)
	if v.unreviewed {
		v.review(ctx, r.needed)
	}
	switch {
	case len(r.Errors) > 0:
		v.Metrics.valid.Set(0)
		if text := r.Errors.Error(); text != v.reported {
			v.reported, v.invalid = text, r.Errors.Unwrap()
			v.report(r.Errors.Unwrap())
		}
	case r.complete():
		v.Metrics.valid.Set(1)
		if v.reported != "" {
			v.Log.Info("rules valid for the cluster again")
		}
		v.reported, v.invalid = "", nil
	}
}

// report logs and records all errors of active rules.
func (v *Validator) report(all []error) {
	for _, e := range all {
		v.Log.Error("rules invalid for the cluster", "error", e)
	}
	v.Log.Error("rules stay active although invalid for the cluster", "errors", len(all))
	v.Report("the active rules are not valid for the schemas of the cluster, and stay active: " + summary(all))
}

// judge judges rules, and logs warnings that the last judgement of all rules did not have.
// Rules that were accepted with some schemas are not judged again with the same ones.
func (v *Validator) judge(ctx context.Context, l *rules.Loaded, accepted discover.Schemas) (r result) {
	live, err := cluster.New(v.Config)
	if err != nil {
		r.Incomplete = err
	} else {
		r.Judgement = live.JudgeChanged(ctx, l, v.Policy, accepted)
	}
	if r.Kinds != nil && v.Learn != nil {
		v.Learn(r.Kinds, l.Program)
	}
	switch {
	case r.Kinds == nil:
	case v.DryRun != nil:
		v.DryRun(r.Kinds)
		r.needed = []deploy.Access{}
	default:
		needs, _ := deploy.Needs(l.Program, r.Kinds, deploy.Usual) // A kind that is unknown now may be served later.
		r.needed = needs.Accesses()
	}
	if r.Partial {
		return r
	}
	var warned []string
	isNew := func(text string) bool {
		warned = append(warned, text)
		return !slices.Contains(v.warned, text)
	}
	if r.Incomplete != nil && isNew(r.Incomplete.Error()) {
		v.Log.Warn("cannot check the rules against all kinds of the cluster", "error", r.Incomplete)
	}
	for _, w := range r.Warnings {
		if isNew(w.Error()) {
			v.Log.Warn("rules warning", "warning", w.Error())
		}
	}
	for _, n := range r.Notes {
		v.Log.Debug("rules note", "note", n.Error())
	}
	v.warned = warned
	return r
}

// reviewTimeout limits one review of permissions.
const reviewTimeout = time.Minute

// review logs missing permissions, and asks for these again until they are granted. It replaces an earlier review, and
// runs in the background because a slow API server must not delay a reload.
func (v *Validator) review(ctx context.Context, needed []deploy.Access) {
	v.stopReview()
	v.missing.Store(nil)
	v.unreviewed = needed == nil
	if v.unreviewed {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		for missing := v.logMissing(ctx, needed); len(missing) > 0; {
			select {
			case <-time.After(recheckEvery):
			case <-ctx.Done():
				return
			}
			if still, err := v.lacking(ctx, missing); err == nil {
				missing = still
			}
		}
	})
	v.stop = func() {
		cancel()
		running.Wait()
	}
}

// Missing returns the permissions that the active rules need and this process lacks, for people. It is safe for
// concurrent use.
func (v *Validator) Missing() (texts []string) {
	missing := v.missing.Load()
	if missing == nil {
		return nil
	}
	for _, a := range *missing {
		where := ""
		if a.Namespace != "" {
			where = " in namespace " + a.Namespace
		}
		texts = append(texts, fmt.Sprintf("permission missing, apply what reconcel rbac prints: %s %s%s (%s)",
			strings.Join(a.Verbs, ", "), a.String(), where, strings.Join(a.Why, "; ")))
	}
	return texts
}

// stopReview cancels the review and waits for it.
func (v *Validator) stopReview() {
	if v.stop != nil {
		v.stop()
	}
}

// logMissing logs and returns the permissions of those that the rules need which this process lacks. It only logs,
// because a permission may be granted at any time; conditions show where one is missing.
func (v *Validator) logMissing(ctx context.Context, needed []deploy.Access) []deploy.Access {
	missing, err := v.lacking(ctx, needed)
	if err != nil {
		v.Log.Debug("permissions not checked", "error", err)
	}
	for _, a := range missing {
		log := v.Log
		if a.Namespace != "" {
			log = log.With("namespace", a.Namespace)
		}
		log.Warn("permission missing, apply what reconcel rbac prints",
			"resource", a.String(), "verbs", strings.Join(a.Verbs, ", "), "purpose", strings.Join(a.Why, "; "))
	}
	return missing
}

// lacking asks the API server which permissions this process lacks. Every authenticated client may ask. On an error,
// some may be missing in the answer.
func (v *Validator) lacking(ctx context.Context, needed []deploy.Access) (missing []deploy.Access, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	client, err := dynamic.NewForConfig(v.Config)
	if err != nil {
		return nil, err
	}
	namespaces := v.Policy.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, a := range needed {
		in := namespaces
		if a.Namespace != "" {
			in = []string{a.Namespace}
		}
		for _, namespace := range in {
			lack := a
			lack.Namespace, lack.Verbs = namespace, nil
			for _, verb := range a.Verbs {
				held, err := cluster.Holds(ctx, client, a.Permit(verb), namespace)
				if err != nil {
					return missing, err
				}
				if !held {
					lack.Verbs = append(lack.Verbs, verb)
				}
			}
			if len(lack.Verbs) > 0 {
				missing = append(missing, lack)
			}
		}
	}
	v.missing.Store(&missing)
	return missing, nil
}
