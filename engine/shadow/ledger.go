package shadow

import (
	"slices"
	"sync"
	"time"

	"reconcel/rules"
)

// A Ledger has the changes that a shadow wants, and counts those that have ended. Several
// goroutines may use it.
type Ledger struct {
	started time.Time

	mu      sync.Mutex
	wanted  map[rules.Owner]map[Part]*wish
	seen    map[rules.Owner]map[Part]*sighted
	byPart  map[Part]map[rules.Owner]*wish
	entries map[key]*entry
}

// A wish is a change that a shadow wants.
type wish struct {
	Change
	since   time.Time
	sighted sighted // writes of the other controller since then
	// undoes says that the shadow wants to create what somebody has just deleted. It may be late: the other
	// controller may have seen a change of the primary that the shadow has not seen.
	undoes bool
}

// sighted are writes of one part that are not judged yet.
type sighted struct {
	kind   string
	writes []Action
	unsure []Action
}

func (s *sighted) none() bool { return len(s.writes) == 0 && len(s.unsure) == 0 }

// NewLedger returns an empty ledger.
func NewLedger(now time.Time) *Ledger {
	return &Ledger{
		started: now, wanted: map[rules.Owner]map[Part]*wish{}, seen: map[rules.Owner]map[Part]*sighted{},
		byPart: map[Part]map[rules.Owner]*wish{}, entries: map[key]*entry{},
	}
}

// Saw records a write of the other controller.
func (l *Ledger) Saw(s Sighting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	primary, w := l.wish(s)
	if w != nil {
		w.saw(s.Action)
		if s.Action == Deleted && w.Action == Deleted {
			l.end(primary, w, time.Time{}) // At once: there may be nothing left to reconcile.
		}
		return
	}
	if len(s.Primaries) == 0 {
		return
	}
	primary = s.Primaries[0]
	found := l.sightedOf(primary, s.Part, s.Kind)
	if s.Unsure {
		found.unsure = append(found.unsure, s.Action)
		return
	}
	found.unsure = nil // The other controller has undone what another writer did.
	found.writes = append(found.writes, s.Action)
}

// sightedOf returns the writes of a part that are not judged yet.
func (l *Ledger) sightedOf(primary rules.Owner, part Part, kind string) *sighted {
	if l.seen[primary] == nil {
		l.seen[primary] = map[Part]*sighted{}
	}
	if l.seen[primary][part] == nil {
		l.seen[primary][part] = &sighted{kind: kind}
	}
	return l.seen[primary][part]
}

// wish returns the change that the shadow wants of the part of a sighting, or nil.
func (l *Ledger) wish(s Sighting) (rules.Owner, *wish) {
	wishes := l.byPart[s.Part]
	for _, primary := range s.Primaries {
		if w := wishes[primary]; w != nil {
			return primary, w
		}
	}
	for primary, w := range wishes { // Of a removed rule, whose primaries may be unknown.
		return primary, w
	}
	return rules.Owner{}, nil
}

// saw records a write. A deletion of what the shadow wants to create is that of another
// writer. One of what it wants to configure is a replacement.
func (w *wish) saw(action Action) {
	if action != Deleted || w.Action != Created {
		w.sighted.writes = append(w.sighted.writes, action)
	}
}

// An Outcome is what a reconciliation found.
type Outcome struct {
	Changes []Change
	// Exists reports whether an object must exist, even if it cannot be created now.
	Exists func(kind string, of Part) bool
}

// Reconciled records the outcome of the reconciliation of a primary. It reports whether any
// of the changes is new.
func (l *Ledger) Reconciled(primary rules.Owner, o Outcome, now time.Time) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	news = l.update(primary, o.Changes, now)
	for part, s := range l.seen[primary] {
		w := l.wanted[primary][part]
		switch {
		case w != nil:
			w.sighted.writes = append(s.writes, w.sighted.writes...)
			deleted := slices.Contains(s.unsure, Deleted)
			w.undoes = w.Action == Created && deleted
			if w.Action == Deleted && deleted { // While the shadow was deciding it.
				w.saw(Deleted)
				l.end(primary, w, now)
			}
		case slices.Contains(s.unsure, Deleted) && o.Exists(s.kind, part):
			continue // It cannot be created now, or the shadow is late.
		default:
			l.agree(part, s)
		}
		delete(l.seen[primary], part)
	}
	if len(l.seen[primary]) == 0 {
		delete(l.seen, primary)
	}
	return news
}

// Gone records that a primary needs no reconciliation: it does not exist, or no rule is for it.
// The garbage collector may have deleted its children, unless the other controller has just removed a
// finalizer from the primary.
func (l *Ledger) Gone(primary rules.Owner, now time.Time) {
	l.mu.Lock()
	released := false
	for part, s := range l.seen[primary] {
		released = released || part.Name == primary.Name && s.kind == primary.Kind.Kind && len(s.writes) > 0
	}
	l.mu.Unlock()
	l.Reconciled(primary, Outcome{Exists: func(string, Part) bool { return !released }}, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, primary)
}

// Cleaned records what a cleanup wants that belongs to no primary; the task has no UID. What it no longer wants is done.
func (l *Ledger) Cleaned(task rules.Owner, changes []Change, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wanted[task] {
		if w.sighted.none() {
			w.sighted.unsure = []Action{w.Action}
		}
	}
	l.update(task, changes, now)
	for _, w := range l.wanted[task] {
		w.sighted.unsure = nil
	}
}

// update replaces all changes that the shadow wants for a primary.
func (l *Ledger) update(primary rules.Owner, changes []Change, now time.Time) (news bool) {
	wanted := map[Part]bool{}
	for _, c := range changes {
		wanted[c.Part] = true
		news = l.want(primary, c, now) || news
	}
	for part, w := range l.wanted[primary] {
		if !wanted[part] {
			l.end(primary, w, now)
		}
	}
	return news
}

// want records one change that the shadow wants, and reports whether it is new.
func (l *Ledger) want(primary rules.Owner, c Change, now time.Time) bool {
	if w := l.wanted[primary][c.Part]; w != nil {
		if w.Digest == c.Digest && w.Action == c.Action {
			return false
		}
		l.end(primary, w, now)
	}
	for other, w := range l.byPart[c.Part] {
		if isTask(other) {
			l.forget(other, w) // The primary decides.
		}
	}
	w := &wish{Change: c, since: now}
	if l.wanted[primary] == nil {
		l.wanted[primary] = map[Part]*wish{}
	}
	if l.byPart[c.Part] == nil {
		l.byPart[c.Part] = map[rules.Owner]*wish{}
	}
	l.wanted[primary][c.Part], l.byPart[c.Part][primary] = w, w
	return true
}

// isTask reports whether changes are those of a cleanup, and not of a primary.
func isTask(owner rules.Owner) bool { return owner.UID == "" }

// end removes a change that the shadow no longer wants, and counts it.
func (l *Ledger) end(primary rules.Owner, w *wish, now time.Time) {
	l.forget(primary, w)
	w.sighted.kind = w.Kind
	switch {
	case !w.sighted.none():
		l.agree(w.Part, &w.sighted)
	case w.undoes:
		l.sightedOf(primary, w.Part, w.Kind).unsure = []Action{Deleted} // To be judged again.
	case now.Sub(w.since) >= patience:
		l.entry(w.Part, w.Kind, w.Action).withdrawn++
	}
}

func (l *Ledger) forget(primary rules.Owner, w *wish) {
	delete(l.byPart[w.Part], primary)
	if len(l.byPart[w.Part]) == 0 {
		delete(l.byPart, w.Part)
	}
	delete(l.wanted[primary], w.Part)
	if len(l.wanted[primary]) == 0 {
		delete(l.wanted, primary)
	}
}

// agree counts writes of the other controller that led to what the shadow wants.
func (l *Ledger) agree(part Part, s *sighted) {
	for _, action := range slices.Concat(s.writes, s.unsure) {
		l.entry(part, s.kind, action).agree(part)
	}
}
