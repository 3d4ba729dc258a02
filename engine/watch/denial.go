package watch

import (
	"context"
	"sync"
	"time"
)

// DeniedPatience is how long a request must be denied before it counts as a lost
// permission. An API server that has just restarted denies everything for
// some seconds, until it has read its roles.
const DeniedPatience = 15 * time.Second

// watchProof is how long a watch must last before a denial counts as over: who
// may list a kind and not watch it is denied right after each list.
const watchProof = 5 * time.Second

// A denial is a time in which a namespace may not be read. It is logged once.
type denial struct {
	mu     sync.Mutex
	since  time.Time // zero: the namespace may be read
	logged bool
}

// repeat notes one more denial, and reports whether to log it now.
func (d *denial) repeat(now time.Time) (log bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() {
		d.since = now
	}
	log = !d.logged && now.Sub(d.since) >= DeniedPatience
	d.logged = d.logged || log
	return log
}

// markLogged notes a denial that another message has reported.
func (d *denial) markLogged(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() {
		d.since = now
	}
	d.logged = true
}

// end notes that the namespace may be read, and reports whether to log that: the
// denial was logged.
func (d *denial) end() (log bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	log = d.logged
	d.since, d.logged = time.Time{}, false
	return log
}

// denied notes that a namespace may not be read, and logs it if that lasts.
func (l *listing) denied(n *namespaced, err error) {
	n.denied.Store(&err)
	log := n.logger(l.Log).With("kind", l.watch.GVK.String(), "reason", err)
	switch {
	case !n.listed():
		l.unlisted(l.watch, n, err)
		n.denial.markLogged(time.Now())
	case n.denial.repeat(time.Now()):
		log.Warn("lost permission to watch; cached data may be stale")
	default:
		log.Debug("watch denied, will retry")
	}
}

// confirmWatch ends the denial of a namespace that was listed, if its watch lasts.
func (l *listing) confirmWatch(ctx context.Context, n *namespaced) {
	select {
	case <-ctx.Done():
	case <-time.After(watchProof):
		if n.denial.end() {
			n.logger(l.Log).Info("watch permission restored", "kind", l.watch.GVK.String())
		}
	}
}
