package watch

import (
	"context"
	"sync"
	"time"
)

// DeniedPatience is how long requests must be denied before that counts as a lost
// permission. An API server that has just restarted denies all requests for some
// seconds, until it has read its roles.
const DeniedPatience = 15 * time.Second

// watchProof is how long a watch must last before a denial counts as over: with
// permission to list and not to watch, each list succeeds before the denial.
const watchProof = 5 * time.Second

// A denial is a period without permission to read a namespace. It is logged once.
type denial struct {
	mu     sync.Mutex
	since  time.Time // zero if reading is allowed
	logged bool
}

// repeat records another denial, and reports whether to log it now.
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

// markLogged records a denial that another message has reported.
func (d *denial) markLogged(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() {
		d.since = now
	}
	d.logged = true
}

// end records that reading is allowed again, and reports whether to log that because
// the denial was logged.
func (d *denial) end() (log bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	log = d.logged
	d.since, d.logged = time.Time{}, false
	return log
}

// denied records that reading a namespace is forbidden, and logs it if that lasts.
func (l *listing) denied(n *namespaced, err error) {
	n.denied.Store(&err)
	log := n.logger(l.Log).With("kind", l.watch.GVK.String(), "error", err)
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

// confirmWatch ends the denial of a listed namespace if its watch lasts.
func (l *listing) confirmWatch(ctx context.Context, n *namespaced) {
	select {
	case <-ctx.Done():
	case <-time.After(watchProof):
		if n.denial.end() {
			n.logger(l.Log).Info("watch permission restored", "kind", l.watch.GVK.String())
		}
	}
}
