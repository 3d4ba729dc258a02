package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/inventory"
	"reconcel/rules"
)

// ActiveRules say which versions of its rules a plan follows. Most plans follow the loaded
// program alone.
type ActiveRules struct {
	Loaded  *rules.Program // of the files
	Program *rules.Program // the loaded one, with earlier versions of rules that are held or have a rollout

	Holds    map[RuleOf]Hold
	Rollouts map[schema.GroupKind]*Rollout
	Used     []string // hashes of approved changes

	CountAgain time.Time     // when to count what could not be listed; zero: everything was
	CountPause time.Duration // between that and the last count
}

// A Hold is a changed version of a rule that does not take effect.
type Hold struct {
	Hash    string
	Since   string // the digest of the version that ran last
	Brief   string // for conditions
	Message string
	// suspends: the version that ran last is not known, so nothing of the rule is written.
	Suspends bool
}

// AllActive are those of a program whose rules all take effect.
func AllActive(program *rules.Program) ActiveRules {
	return ActiveRules{Loaded: program, Program: program}
}

// next returns the program for the primaries that the rollouts have reached. Its primaries and
// rules have the order of those of the other program.
func (s *ActiveRules) next() *rules.Program {
	if len(s.Rollouts) == 0 {
		return s.Program
	}
	var held []*rules.Rule
	for _, p := range s.Program.Primaries() {
		for _, r := range p.Rules {
			if _, holds := s.Holds[RuleOf{r.Name, r.GVK.GroupKind()}]; holds {
				held = append(held, r)
			}
		}
	}
	return s.Loaded.Compose(held...)
}

// A Change is a rule whose version is not the one that ran last.
type Change struct {
	Key inventory.Key
	Of  RuleOf
	Old inventory.Entry
	Now *rules.Rule // nil: it is removed, and so are its objects
}

// Newest returns the version that a change leads to or, if it removes the rule, the last one, which may be nil.
func (c *Change) Newest(last *rules.Rule) *rules.Rule {
	if c.Now != nil {
		return c.Now
	}
	return last
}

// Hash identifies a change. A user approves one change, and not a later one of the rule.
func (c *Change) Hash() string {
	h := sha256.New()
	h.Write([]byte(c.Key.Rule + " " + c.Key.Kind + " " + c.Old.Digest + " "))
	if c.Now != nil {
		h.Write(c.Now.Digest[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:5])
}

// ChangesSince returns the rules of a plan that are not those that ran last.
func ChangesSince(was *inventory.Recorded, pl *Plan) (all []Change) {
	for _, pk := range pl.Primaries {
		for _, r := range pk.Rules {
			if !was.Runs(r) {
				key := inventory.KeyOf(r)
				all = append(all, Change{key, RuleOf{r.Name, r.GVK.GroupKind()}, was.Entries[key], r})
			}
		}
	}
	for _, r := range pl.Orphaned.Removed {
		if key := (inventory.Key{Rule: r.Name, Kind: r.For}); was.Entries[key].Digest != "" {
			all = append(all, Change{key, RuleOf{r.Name, r.Primary()}, was.Entries[key], nil})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return inventory.CompareKeys(a.Key, b.Key) })
	return all
}

// StopOthers stops the watches of a plan that none of the others uses; nil uses none.
func (pl *Plan) StopOthers(others ...*Plan) {
	for _, w := range pl.Watches {
		if !slices.ContainsFunc(others, func(other *Plan) bool { return other != nil && slices.Contains(other.Watches, w) }) {
			w.Stop()
		}
	}
}

// RunningRule returns the version of a rule that ran last, or nil if it is not known or is
// for another version of the kind.
func RunningRule(was *inventory.Recorded, old *Plan, c *Change) *rules.Rule {
	var last *rules.Rule
	if old != nil {
		last = inventory.FindRule(old.Program, c.Key, c.Old.Digest)
	}
	if last == nil {
		last = was.Rule(c.Key)
	}
	if last == nil || c.Now != nil && last.GVK != c.Now.GVK {
		return nil
	}
	return last
}

// Changes are what differs between two plans.
type Changes struct {
	All   map[schema.GroupKind]bool // primary kinds whose primaries are all affected
	Rules map[RuleOf]bool
}

// SameOrder reports whether the rules that are in both lists have the same order.
func SameOrder(before, now []*rules.Rule) bool {
	common := func(list, other []*rules.Rule) (names []string) {
		there := map[string]bool{}
		for _, r := range other {
			there[r.Name] = true
		}
		for _, r := range list {
			if there[r.Name] {
				names = append(names, r.Name)
			}
		}
		return names
	}
	return slices.Equal(common(before, now), common(now, before))
}

// ChangedRules returns the rules for a primary kind that are new, removed or not the
// same: of the latter, both versions.
func ChangedRules(before, now *PrimaryKind) (changed []*rules.Rule) {
	earlier := map[string]*rules.Rule{}
	for _, r := range before.Rules {
		earlier[r.Name] = r
	}
	for _, r := range now.Rules {
		old := earlier[r.Name]
		delete(earlier, r.Name)
		switch {
		case old == nil:
			changed = append(changed, r)
		case !sameRule(before, old, now, r):
			changed = append(changed, old, r)
		}
	}
	for _, r := range before.Rules {
		if earlier[r.Name] != nil {
			changed = append(changed, r)
		}
	}
	return changed
}

// sameRule reports whether a rule does the same in two plans: it has the same content,
// the same watches and the same admission result.
func sameRule(before *PrimaryKind, old *rules.Rule, now *PrimaryKind, r *rules.Rule) bool {
	if old.Digest != r.Digest || !slices.Equal(before.ByRule[old], now.ByRule[r]) {
		return false
	}
	for i, l := range r.Lookups {
		if before.Lookups[old.Lookups[i]] != now.Lookups[l] {
			return false
		}
	}
	of := RuleOf{r.Name, r.GVK.GroupKind()}
	if before.Plan.Holds[of] != now.Plan.Holds[of] {
		return false // Its primaries report it.
	}
	was, is := before.Plan.Admitted.Load(), now.Plan.Admitted.Load()
	return was.Why(old) == is.Why(r) && slices.Equal(was.OwnersOf(r.Name), is.OwnersOf(r.Name))
}
