package engine

import (
	"context"
	"sync"
	"time"
)

// deniedPatience is how long a watch must have been denied before people are
// told that a permission is lost. An API server that has just restarted denies
// everything for some seconds, until it has read its roles.
const deniedPatience = 15 * time.Second

// watchProof is how long a watch must last before a denial counts as over: who
// may list a kind and not watch it is denied right after each list.
const watchProof = 5 * time.Second

// A denial is the time in which a part may not be watched, as far as people are
// told of it.
type denial struct {
	mu    sync.Mutex
	since time.Time // zero: it may be watched
	told  bool
}

// note notes that the part was denied once more, and reports whether that is to
// be told now: once for each denial.
func (d *denial) note(now time.Time) (tell bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() {
		d.since = now
	}
	tell = !d.told && now.Sub(d.since) >= deniedPatience
	d.told = d.told || tell
	return tell
}

// noteTold notes that people have been told in other words.
func (d *denial) noteTold(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since.IsZero() {
		d.since = now
	}
	d.told = true
}

// end notes that the part may be watched, and reports whether that is to be
// told: people have been told of the denial.
func (d *denial) end() (tell bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tell = d.told
	d.since, d.told = time.Time{}, false
	return tell
}

// confirm ends the denial of a part that was listed, if its watch lasts.
func (f *following) confirm(ctx context.Context, p *part) {
	pause(ctx, watchProof)
	if ctx.Err() == nil && p.denial.end() {
		p.log(f.log).Info("watch permission restored", "kind", f.watch.key.gvk.String())
	}
}
