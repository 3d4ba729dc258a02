package plan

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/projection"
)

// A Plan has the watches that a program needs. It does not change; another
// program gets another plan.
type Plan struct {
	ActiveRules
	Orphaned  inventory.Orphaned // objects that its rules or removed rules no longer render
	Primaries map[schema.GroupKind]*PrimaryKind
	Watches   []*watch.Watch

	passes     passes                          // reconciliations in progress that use it
	Admitted   atomic.Pointer[AdmissionResult] // nil: this process does not write
	Superseded atomic.Bool                     // another plan replaces it
	Unchecked  chan struct{}                   // requests a check of objects that the admission result does not cover
	Stop       func()                          // stops its background work and waits for the end
}

// NewPlan returns a plan with the watches of a program. It reuses running
// watches that cache all fields that the program reads, and creates the others. orphaned has the
// kinds that the rules no longer render. The ConfigMaps of bundles are in home.
func NewPlan(home string, s ActiveRules, orphaned inventory.Orphaned, running []*watch.Watch) *Plan {
	pl := &Plan{ActiveRules: s, Orphaned: orphaned, Primaries: map[schema.GroupKind]*PrimaryKind{},
		Unchecked: make(chan struct{}, 1), Stop: func() {}}
	there, byKey := map[watch.Key]*watch.Watch{}, map[watch.Key]*watch.Watch{}
	for _, w := range running {
		there[w.Key] = w
	}
	share := func(key watch.Key, reads *projection.Projection) *watch.Watch {
		w := byKey[key]
		if w == nil {
			if w = there[key]; w == nil || !w.Covers(reads) {
				w = watch.New(key, reads)
			}
			byKey[key] = w
			pl.Watches = append(pl.Watches, w)
		}
		return w
	}
	next := s.next()
	reads := rules.ReadsOf(s.Program, s.Loaded) // next has no other rules.
	build := func(p, other *rules.Primary, w *watch.Watch) *PrimaryKind {
		pk := &PrimaryKind{
			Primary:  p,
			Watch:    w,
			Children: map[schema.GroupVersionKind]*watch.Watch{},
			ByRule:   map[*rules.Rule][]*watch.Watch{},
			Lookups:  map[*rules.Lookup]*watch.Watch{},
			Digest:   digestOf(p.Rules),
			Rollout:  s.Rollouts[p.GVK.GroupKind()],
			Plan:     pl,

			OrphanedObjects: &orphanedObjects{},
		}
		for i, r := range p.Rules {
			for _, gvk := range slices.Concat(r.ChildKinds(), other.Rules[i].ChildKinds(), orphaned.Kinds[inventory.KeyOf(r)]) {
				pk.addChild(r, share(watch.Key{GVK: gvk, Selector: childSelector, Role: watch.Child}, reads.Child(gvk)))
			}
			for _, l := range r.Lookups {
				pk.Lookups[l] = share(watch.Key{GVK: l.GVK, Role: watch.Lookup}, reads.Lookup(l.GVK))
			}
		}
		return pk
	}
	for i, p := range s.Program.Primaries() {
		kind, other := p.GVK.GroupKind(), next.Primaries()[i]
		pk := build(p, other, share(primaryKey(home, p, other), reads.Primary(p.GVK)))
		pl.Primaries[kind] = pk
		if s.Rollouts[kind] != nil {
			pk.Next = build(other, p, pk.Watch)
			pk.Next.OrphanedObjects = pk.OrphanedObjects
			pk.Later = pk.Next
		}
	}
	for _, p := range s.Loaded.Primaries() {
		pk := pl.Primaries[p.GVK.GroupKind()]
		if !slices.ContainsFunc(p.Rules, s.holdsBack) {
			continue
		}
		pk.Later = build(p, pk.Primary, pk.Watch)
		if pk.Next != nil {
			pk.Next.Later = pk.Later
		}
	}
	return pl
}

// holdsBack reports whether a loaded rule is held, and another version of it runs.
func (s *ActiveRules) holdsBack(r *rules.Rule) bool {
	h, held := s.Holds[RuleOf{r.Name, r.GVK.GroupKind()}]
	return held && !h.Suspends
}

// digestOf returns a digest of a list of rules.
func digestOf(list []*rules.Rule) uint64 {
	var h maphash.Hash
	h.SetSeed(MarkSeed)
	for _, r := range list {
		_, _ = h.Write(r.Digest[:])
	}
	return h.Sum64()
}

// Rules returns the number of rules. One for several kinds counts once.
func (pl *Plan) Rules() int {
	names := map[string]bool{}
	for _, p := range pl.Primaries {
		for _, r := range p.Rules {
			names[r.Name] = true
		}
	}
	return len(names)
}

// passes are the primaries of the reconciliations in progress, each at a place of its own.
type passes struct {
	mu   sync.Mutex
	at   []ident.Request
	free []int // places whose reconciliation has ended
}

// Enter begins a reconciliation that uses the plan. Leave ends it, with the place that Enter returns.
func (pl *Plan) Enter(req ident.Request) (place int) {
	p := &pl.passes
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		place, p.free = p.free[last], p.free[:last]
		p.at[place] = req
		return place
	}
	p.at = append(p.at, req)
	return len(p.at) - 1
}

// Leave ends a reconciliation that uses the plan.
func (pl *Plan) Leave(place int) {
	p := &pl.passes
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[place] = ident.Request{}
	p.free = append(p.free, place)
}

// InProgress names the primaries that are reconciled with the plan.
func (pl *Plan) InProgress() (names []string) {
	pl.passes.mu.Lock()
	defer pl.passes.mu.Unlock()
	for _, req := range pl.passes.at {
		if req != (ident.Request{}) {
			names = append(names, req.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Suspends reports whether nothing of a rule is written: it is held, and the version that ran
// last is not known.
func (pl *Plan) Suspends(r *rules.Rule) bool {
	return pl.Holds[RuleOf{r.Name, r.GVK.GroupKind()}].Suspends
}

// Check returns what the inventory needs to know about a plan.
func (pl *Plan) Check(v *AdmissionResult) inventory.Check {
	c := inventory.Check{
		Refuses:   func(r *rules.Rule) bool { return v.Refuses(r) || pl.Suspends(r) },
		TakenOver: v.TakenOver, Used: pl.Used, Held: map[inventory.Key]inventory.HeldChange{},
		Rollouts: map[string]inventory.Rollout{},
	}
	for of, h := range pl.Holds {
		key := inventory.Key{Rule: of.Name, Kind: of.Kind.String()}
		c.Held[key] = inventory.HeldChange{Rule: key.Rule, Kind: key.Kind, Hash: h.Hash, Message: h.Message}
	}
	for kind, ro := range pl.Rollouts {
		c.Next = append(c.Next, pl.Primaries[kind].Next.Rules...)
		c.Rollouts[kind.String()] = ro.State()
	}
	return c
}

// KeepHeld removes held rules from those whose objects and marks are removed.
func (pl *Plan) KeepHeld() {
	pl.Orphaned.Removed = slices.DeleteFunc(pl.Orphaned.Removed, func(r inventory.RemovedRule) bool {
		return pl.Holds[RuleOf{r.Name, r.Primary()}].Suspends
	})
	pl.Orphaned.Finalizers = slices.DeleteFunc(pl.Orphaned.Finalizers, func(f inventory.Finalizer) bool {
		return pl.Holds[RuleOf{f.Rule, f.Primary()}].Suspends
	})
}

// PausedMessage is the message of the conditions of a paused primary.
const PausedMessage = "paused by the annotation " + rules.AnnotationPaused

// A PauseState is whether a primary is paused, as far as this process has
// reported it.
type PauseState int

// What a process has reported of the pause of a primary.
const (
	Unknown PauseState = iota // not reconciled yet
	Resting                   // paused, and reported
	Running                   // not paused
)

// WriteTimeout bounds one request. It limits how long a request blocks a worker,
// and how long a write can outlive its process.
const WriteTimeout = 10 * time.Second

// MarkSeed makes hashes of marks comparable within this process.
var MarkSeed = maphash.MakeSeed()

// MostFinished is how many finished replicas are kept for inspection.
const MostFinished = 5
