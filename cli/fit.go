package cli

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/judge"
	"reconcel/deploy"
	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/schema"
)

// A fitter holds rules against what the cluster says of its kinds: before they
// take effect, and again when a schema has changed while they are followed.
// Rules that do not fit any more are followed on, since they are the last good
// ones, but people are told.
type fitter struct {
	config  *rest.Config
	log     *slog.Logger
	metrics *ruleMetrics
	tell    func(note string)
	policy  judge.Policy

	last     measured         // what was held against the cluster last
	followed discover.Schemas // what the rules that are followed were held against
	retry    time.Time        // when they are held against it again in any case; zero: not
	told     string           // what does not fit of them; "": everything does
	warned   []string         // what else was said then
	asking   func()           // ends the asking about permissions, if there is some
	unasked  bool             // what the rules need was not known yet
}

// measured is what was found out about rules.
type measured struct {
	set       *schema.Set // nil: nothing could be read
	against   discover.Schemas
	needed    []deploy.Access
	verdict   judge.Verdict
	complete  bool
	unchecked error // why it is not complete
}

// check refuses rules that do not fit. A kind that the cluster does not know may
// come later, and a cluster that does not answer is waited for by the engine:
// neither is in the way.
func (f *fitter) check(ctx context.Context, l *rules.Loaded) error {
	f.last = f.measure(ctx, l)
	return rejected(f.last.verdict)
}

// accept notes that the rules which were checked last are followed now, and has
// it logged which of the permissions that they need are missing.
func (f *fitter) accept(ctx context.Context) {
	f.told = ""
	f.note(f.last)
	f.metrics.fit.Set(1)
	f.ask(ctx, f.last.needed)
	f.last = measured{}
}

// note remembers which schemas the rules that are followed were held against.
func (f *fitter) note(m measured) {
	f.followed, f.retry = m.against, time.Time{}
	if !m.complete {
		f.retry = time.Now().Add(rulesRecheck)
	}
}

// outdated reports whether rules that are followed are to be held against the
// cluster again: the schema of a kind that they mention is another one, or could
// not be read.
func (f *fitter) outdated(l *rules.Loaded, now discover.Schemas) bool {
	if !f.retry.IsZero() {
		return time.Now().After(f.retry)
	}
	return slices.ContainsFunc(mentioned(l.Program), func(gv runtimeschema.GroupVersion) bool { return now[gv] != f.followed[gv] })
}

// recheck holds rules that are followed against the cluster again, and tells what
// does not fit any more, or that everything fits again. A mistake of ours in it
// must not end what the rules do.
func (f *fitter) recheck(ctx context.Context, l *rules.Loaded) {
	defer func() {
		if p := recover(); p != nil {
			f.log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			f.retry = time.Now().Add(rulesRecheck)
		}
	}()
	m := f.measure(ctx, l)
	f.note(m)
	if f.unasked {
		f.ask(ctx, m.needed)
	}
	switch {
	case len(m.verdict.Errors) > 0:
		f.metrics.fit.Set(0)
		if text := m.verdict.Errors.Error(); text != f.told {
			f.told = text
			f.report(m.verdict.Errors.Unwrap())
		}
	case m.complete:
		f.metrics.fit.Set(1)
		if f.told != "" {
			f.log.Info("rules valid for the cluster again")
		}
		f.told = ""
	}
}

// report tells of rules that do not fit any more, once, and all that does not.
func (f *fitter) report(complaints []error) {
	for _, c := range complaints {
		f.log.Error("rules invalid for the cluster", "error", c)
	}
	f.log.Error("rules stay active although invalid for the cluster", "errors", len(complaints))
	f.tell("the active rules are not valid for the schemas of the cluster, and stay active: " + summary(complaints))
}

// measure holds rules against the kinds of the cluster. What cannot work there is
// found, what may go wrong is logged, unless it was the last time.
func (f *fitter) measure(ctx context.Context, l *rules.Loaded) (m measured) {
	ctx, cancel := context.WithTimeout(ctx, precheckTimeout)
	defer cancel()
	cluster, err := newLiveCluster(f.config)
	if err != nil {
		m.unchecked = err
	} else {
		m = measure(ctx, cluster, l, f.policy)
	}
	var said []string
	news := func(text string) bool {
		said = append(said, text)
		return !slices.Contains(f.warned, text)
	}
	if m.unchecked != nil && news(m.unchecked.Error()) {
		f.log.Warn("cannot check the rules against all kinds of the cluster", "error", m.unchecked)
	}
	for _, w := range m.verdict.Warnings {
		if news(w.Error()) {
			f.log.Warn("rules warning", "warning", w.Error())
		}
	}
	for _, n := range m.verdict.Notes {
		f.log.Debug("rules note", "note", n.Error())
	}
	f.warned = said
	return m
}

// measure checks rules against the schemas of a cluster.
func measure(ctx context.Context, cluster *liveCluster, l *rules.Loaded, policy judge.Policy) (m measured) {
	index, err := cluster.published(ctx)
	if err != nil {
		m.unchecked = err
		return m
	}
	m.against = discover.SchemasIn(index)
	set, err := index.schemas(ctx, mentioned(l.Program))
	m.set, m.unchecked = set, err
	if set == nil {
		return m
	}
	m.complete = err == nil
	m.verdict = judge.Of(l, set, policy)
	needs, _ := deploy.Needs(l.Program, set, deploy.Usual) // Kinds that are not known may come later.
	m.needed = needs.Accesses()
	return m
}

// summary is as much of complaints as an Event should have.
func summary(complaints []error) string {
	text := complaints[0].Error()
	if more := len(complaints) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
