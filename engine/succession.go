package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A succession says which versions of its rules a plan follows. Most plans follow the loaded
// program alone.
type succession struct {
	loaded  *rules.Program // of the files
	program *rules.Program // the loaded one, with earlier versions of rules that are held or have a rollout

	holds    map[ruleOf]hold
	rollouts map[schema.GroupKind]*rollout
	used     []string // hashes of approved changes
}

// A hold is a changed version of a rule that does not take effect.
type hold struct {
	hash    string
	since   string // the digest of the version that ran last
	brief   string // for conditions
	message string
	// suspends: the version that ran last is not known, so nothing of the rule is written.
	suspends bool
}

// settledIn is the succession to a program whose rules all take effect.
func settledIn(program *rules.Program) succession {
	return succession{loaded: program, program: program}
}

// next returns the program for the primaries that the rollouts have reached. Its primaries and
// rules have the order of those of the other program.
func (s *succession) next() *rules.Program {
	if len(s.rollouts) == 0 {
		return s.program
	}
	var held []*rules.Rule
	for _, p := range s.program.Primaries() {
		for _, r := range p.Rules {
			if _, holds := s.holds[ruleOf{r.Name, r.GVK.GroupKind()}]; holds {
				held = append(held, r)
			}
		}
	}
	return s.loaded.Compose(held...)
}

// A change is a rule whose version is not the one that ran last.
type change struct {
	key inventory.Key
	of  ruleOf
	old inventory.Entry
	now *rules.Rule // nil: it is removed, and so are its objects
}

// hash identifies a change. A user approves one change, and not a later one of the rule.
func (c *change) hash() string {
	h := sha256.New()
	h.Write([]byte(c.key.Rule + " " + c.key.Kind + " " + c.old.Digest + " "))
	if c.now != nil {
		h.Write(c.now.Digest[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:5])
}

// changesSince returns the rules of a plan that are not those that ran last.
func changesSince(was *inventory.Recorded, pl *plan) (all []change) {
	for _, pk := range pl.primaries {
		for _, r := range pk.Rules {
			if !was.Runs(r) {
				key := inventory.KeyOf(r)
				all = append(all, change{key, ruleOf{r.Name, r.GVK.GroupKind()}, was.Entries[key], r})
			}
		}
	}
	for _, r := range pl.orphaned.Removed {
		if key := (inventory.Key{Rule: r.Name, Kind: r.For}); was.Entries[key].Digest != "" {
			all = append(all, change{key, ruleOf{r.Name, r.Primary()}, was.Entries[key], nil})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return inventory.CompareKeys(a.key, b.key) })
	return all
}

// A starter fills the caches of a plan whose watches do not all run yet.
type starter func(ctx context.Context, pl *plan, running []*watch.Watch) error

// admit decides which of the changed rules of a plan take effect, before its first write. It
// settles the plan, or another one that takes its place. old is the active plan, or nil.
func (e *Engine) admit(ctx context.Context, pl, old *plan, start starter) (*plan, error) {
	was, err := e.inventory.RecordedWithTexts(ctx)
	if err != nil {
		return nil, err
	}
	s, err := e.succeed(ctx, was, pl, old)
	if err != nil {
		return nil, err
	}
	if s.program == pl.loaded {
		pl.succession = s
		pl.keepHeld()
		return pl, e.settle(ctx, pl, old)
	}
	orphaned, err := e.inventory.Compare(ctx, s.program)
	if err != nil {
		return nil, err
	}
	running := pl.watches
	if old != nil {
		running = slices.Concat(old.watches, pl.watches)
	}
	composed := newPlan(e.options.Namespace, s, orphaned, running)
	composed.keepHeld()
	if err = start(ctx, composed, running); err == nil {
		err = e.settle(ctx, composed, old)
	}
	if err != nil {
		composed.stopOthers(pl, old)
		return nil, err
	}
	return composed, nil
}

// stopOthers stops the watches of a plan that none of the others uses; nil uses none.
func (pl *plan) stopOthers(others ...*plan) {
	for _, w := range pl.watches {
		if !slices.ContainsFunc(others, func(other *plan) bool { return other != nil && slices.Contains(other.watches, w) }) {
			w.Stop()
		}
	}
}

// startFresh starts the watches of a plan that do not run yet, and waits for their first list.
func (e *Engine) startFresh(ctx context.Context, pl *plan, running []*watch.Watch) error {
	e.route(pl)
	var fresh []*watch.Watch
	for _, w := range pl.watches {
		if !slices.Contains(running, w) {
			fresh = append(fresh, w)
			e.watcher.Start(ctx, w)
		}
	}
	return e.awaitFresh(ctx, fresh)
}

// succeed returns the versions that the rules of a plan have from now on.
func (e *Engine) succeed(ctx context.Context, was *inventory.Recorded, pl, old *plan) (succession, error) {
	s := settledIn(pl.loaded)
	changed := changesSince(was, pl)
	if len(changed) == 0 {
		return s, nil
	}
	tolls, err := e.countTolls(ctx, pl, changed)
	if err != nil {
		return s, err
	}
	s.holds, s.rollouts = map[ruleOf]hold{}, map[schema.GroupKind]*rollout{}
	var earlier []*rules.Rule
	for i := range changed {
		c := &changed[i]
		excess := e.excess(c, tolls[c.of])
		if excess == "" && tolls[c.of].unknown && was.Holds(c.hash()) {
			excess = "the removal of rule \"" + c.key.Rule + "\" was held, and its objects cannot be counted now"
		}
		switch {
		case excess == "" && !c.inWaves():
			continue
		case excess != "" && was.Approved(c.hash()):
			s.used = append(s.used, c.hash())
			if !c.inWaves() {
				continue
			}
			excess = ""
		}
		last := runningRule(was, old, c)
		switch {
		case excess != "":
			s.holds[c.of] = e.hold(c, excess, tolls[c.of], last)
			if last != nil {
				earlier = append(earlier, last)
			}
		case last != nil: // Else no primary could wait for the new version.
			s.addToRollout(c, last)
		}
	}
	s.resume(was, e.dryRun)
	for _, ro := range s.rollouts {
		earlier = append(earlier, ro.earlier...)
	}
	s.program = pl.loaded.Compose(earlier...)
	return s, nil
}

// runningRule returns the version of a rule that ran last, or nil if it is not known or is
// for another version of the kind.
func runningRule(was *inventory.Recorded, old *plan, c *change) *rules.Rule {
	last := was.Rule(c.key)
	if old != nil {
		if r := inventory.FindRule(old.program, c.key, c.old.Digest); r != nil {
			last = r
		}
	}
	if last == nil || c.now != nil && last.GVK != c.now.GVK {
		return nil
	}
	return last
}
