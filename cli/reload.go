package cli

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/prometheus/client_golang/prometheus"

	"reconcel/cli/internal/judge"
	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/source"
)

// How often the rules are read again. What has changed is read once more a
// little later, and counts when it has stayed the same: somebody may be in the
// middle of writing it.
const (
	rulesPoll   = 2 * time.Second
	rulesSettle = 100 * time.Millisecond
)

// rulesRecheck is how often rules that were refused are looked at again: they
// may be right by now for what the cluster says of its kinds.
const rulesRecheck = 30 * time.Second

// A ruleWatch reads the rules again and again, and has those followed that are
// right. It goes by what the files hold, which is the same for an editor that
// renames, a ConfigMap whose link is switched and a plain write. The file
// system's own news only make it look sooner.
type ruleWatch struct {
	paths   []string
	read    func() ([]source.File, source.Errors)
	policy  judge.Policy
	check   func(context.Context, *rules.Loaded) error // against the kinds of the cluster
	follow  func(context.Context, *rules.Program) error
	refuse  func(note string)
	log     *slog.Logger
	metrics *ruleMetrics
	fitter  *fitter                 // nil: there is no cluster
	schemas <-chan discover.Schemas // of the cluster, as they change

	loaded    *rules.Loaded    // what is followed
	compiled  *rules.Loaded    // what was compiled last
	published discover.Schemas // nil: not known yet

	state   atomic.Pointer[filesState] // for debugging
	active  digest                     // what is followed
	held    digest                     // what was last found to be wrong, or could not be followed
	because string                     // why
	retry   time.Time                  // when that is tried again
	program *rules.Program             // of what is held, if nothing is wrong with it
	last    digest                     // what was read last
	since   time.Time                  // when that was first read
}

// A digest tells two sets of files apart.
type digest [sha256.Size]byte

func digestOf(sources []source.File, unread source.Errors) (d digest) {
	h := sha256.New()
	part := func(b []byte) {
		_ = binary.Write(h, binary.BigEndian, int64(len(b))) // A hash takes everything.
		h.Write(b)
	}
	for _, s := range sources {
		part([]byte(s.Name))
		part(s.Data)
	}
	for _, e := range unread {
		part([]byte(e.Error()))
	}
	return digest(h.Sum(nil))
}

// start watches until ctx ends; the group is done when nothing is watched any
// more. What is followed already are the rules in these files.
func (w *ruleWatch) start(ctx context.Context, followed []source.File) *sync.WaitGroup {
	w.followed(digestOf(followed, nil))
	var watching sync.WaitGroup
	watching.Go(func() { w.run(ctx) })
	return &watching
}

func (w *ruleWatch) run(ctx context.Context) {
	if w.fitter != nil {
		w.fitter.accept(ctx)
		defer w.fitter.stopAsking()
	}
	if slices.ContainsFunc(w.paths, readOnce) {
		w.log.Info("rules are not reloaded, some of them do not come from files")
		w.runFixed(ctx)
		return
	}
	news, stop := w.news()
	defer stop()
	var looked time.Time
	next := time.NewTimer(rulesPoll)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
			if wait := rulesSettle - time.Since(looked); wait > 0 {
				next.Reset(wait) // Other files of the folder may change all the time.
				continue
			}
		case w.published = <-w.schemas:
			w.retry = time.Time{} // What was refused may fit now.
		case <-next.C:
		}
		looked = time.Now()
		next.Reset(w.look(ctx))
		w.refit(ctx)
	}
}

// runFixed is run for rules that cannot be read again.
func (w *ruleWatch) runFixed(ctx context.Context) {
	if w.fitter == nil {
		return
	}
	tick := time.NewTicker(rulesPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case w.published = <-w.schemas:
		case <-tick.C:
		}
		w.refit(ctx)
	}
}

// refit holds the rules that are followed against the cluster again, if it has
// other schemas now.
func (w *ruleWatch) refit(ctx context.Context) {
	if w.published != nil && w.fitter.outdated(w.loaded, w.published) {
		w.fitter.recheck(ctx, w.loaded)
	}
}

// readOnce reports whether what a path stands for can be read only once: it is
// standard input or a pipe. Reading that again would find nothing, or wait.
func readOnce(path string) bool {
	if path == stdin {
		return true
	}
	at, err := os.Stat(path)
	return err == nil && !at.Mode().IsRegular() && !at.IsDir()
}

// news returns a channel that receives when a file may have changed. On a file
// system that tells no news there still is the poll.
func (w *ruleWatch) news() (<-chan fsnotify.Event, func()) {
	watcher, err := fsnotify.NewBufferedWatcher(100)
	if err != nil {
		w.log.Debug("file notifications are unavailable, polling", "error", err)
		return nil, func() {}
	}
	go func() {
		for err := range watcher.Errors {
			w.log.Debug("file notifications may be lost, polling", "error", err)
		}
	}()
	for _, path := range w.paths {
		// The folder, since what is renamed over a file is another file.
		for _, folder := range []string{path, filepath.Dir(path)} {
			if err := watcher.Add(folder); err != nil {
				w.log.Debug("file notifications are unavailable, polling", "path", folder, "error", err)
			}
		}
	}
	return watcher.Events, func() { _ = watcher.Close() }
}

// look reads the rules, and returns when to look again.
func (w *ruleWatch) look(ctx context.Context) time.Duration {
	sources, unread := w.read()
	now := digestOf(sources, unread)
	if now != w.last {
		w.last, w.since = now, time.Now()
	}
	switch {
	case now == w.active:
		if w.held != (digest{}) {
			w.followed(now)
			w.log.Info("rules files match the active rules again")
		}
		return rulesPoll
	case now == w.held && time.Now().Before(w.retry):
		return rulesPoll
	case time.Since(w.since) < rulesSettle:
		return rulesSettle
	}
	if w.program == nil || now != w.held {
		program, err := w.compile(ctx, sources, unread)
		if err != nil {
			if w.hold(now, nil, err, rulesRecheck) {
				w.report(err)
			}
			return rulesPoll
		}
		w.program = program
	}
	if err := w.follow(ctx, w.program); err != nil {
		if ctx.Err() == nil && w.hold(now, w.program, err, rulesPoll) {
			w.log.Error("reload failed, will retry", "error", err)
		}
		return rulesPoll
	}
	w.loaded = w.compiled
	w.followed(now)
	w.log.Info("rules reloaded", "files", len(sources), "hash", now.String())
	if w.fitter != nil {
		w.fitter.accept(ctx)
	}
	return rulesPoll
}

// hold notes what keeps rules from being followed, and reports whether that is
// news.
func (w *ruleWatch) hold(now digest, program *rules.Program, err error, patience time.Duration) bool {
	news := now != w.held || err.Error() != w.because
	w.held, w.program, w.because, w.retry = now, program, err.Error(), time.Now().Add(patience)
	w.metrics.refused()
	if news {
		w.noteRefused(err)
	}
	return news
}

// followed notes that the rules in the files are those that are followed.
func (w *ruleWatch) followed(now digest) {
	w.active, w.held, w.program = now, digest{}, nil
	w.metrics.followed(now)
	w.noteFollowed()
}

// compile compiles rules of which nothing may be wrong. A mistake of ours in it
// must not end what the last good rules do.
func (w *ruleWatch) compile(ctx context.Context, sources []source.File, unread source.Errors) (program *rules.Program, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = errors.New("internal error, see the log")
		}
	}()
	w.compiled = rules.Compile(sources, unread...)
	if err = rejected(judge.Of(w.compiled, nil, w.policy)); err == nil {
		err = w.check(ctx, w.compiled)
	}
	return w.compiled.Program, err
}

// complaintsOf returns everything that is wrong, one by one.
func complaintsOf(err error) []error {
	if all, ok := errors.AsType[source.Errors](err); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// report tells of rules that are wrong, once, and all that is wrong.
func (w *ruleWatch) report(err error) {
	complaints := complaintsOf(err)
	for _, c := range complaints {
		w.log.Error("rules invalid", "error", c)
	}
	w.log.Error("rules not reloaded, the last valid rules stay active", "errors", len(complaints))
	w.refuse("the rules files are invalid, the last valid rules stay active: " + summary(complaints))
}

// String is enough of the digest to tell two apart.
func (d digest) String() string { return hex.EncodeToString(d[:6]) }

// ruleMetrics tell which rules are followed, and whether they are those of the
// files.
type ruleMetrics struct {
	successful prometheus.Gauge
	since      prometheus.Gauge
	info       *prometheus.GaugeVec
	fit        prometheus.Gauge
}

func newRuleMetrics(r prometheus.Registerer) *ruleMetrics {
	m := &ruleMetrics{
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reconcel_rules_last_reload_successful", Help: "Whether the last reload of the rules files succeeded (1) or not (0).",
		}),
		since: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reconcel_rules_last_reload_success_timestamp_seconds", Help: "Time at which the active rules were loaded.",
		}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "reconcel_rules_info", Help: "Constant 1, labelled with the hash of the active rules files.",
		}, []string{"hash"}),
		fit: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "reconcel_rules_valid_for_cluster", Help: "Whether the active rules are valid for the current schemas of the cluster (1) or not (0).",
		}),
	}
	m.fit.Set(1)
	r.MustRegister(m.successful, m.since, m.info, m.fit)
	return m
}

func (m *ruleMetrics) followed(d digest) {
	m.successful.Set(1)
	m.since.SetToCurrentTime()
	m.info.Reset()
	m.info.WithLabelValues(d.String()).Set(1)
}

func (m *ruleMetrics) refused() { m.successful.Set(0) }
