package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Rollout brings the new versions of rules to the primaries of one kind in waves. A
// primary has the new version if its position is below a limit, so a new process continues
// with the same primaries. Those that come first have the lower half of the positions.
type Rollout struct {
	Kind    schema.GroupKind
	limits  []intstr.IntOrString // maxUnavailable of its rules
	failure rules.OnFailure
	Earlier []*rules.Rule // the versions that its rules had before

	first []labels.Selector // of the primaries that come first, as in Progress

	Mu       sync.Mutex
	Progress inventory.Rollout
	states   map[ident.Request]reached // of primaries that were reconciled with the new version
}

// A reached primary was reconciled with the new version.
type reached struct {
	state   outcome.State
	message string // if it is stalled
}

// InWaves reports whether a change reaches primaries one after another.
func (c *Change) InWaves() bool { return c.Now != nil && c.Now.Rollout.InWaves() }

// AddToRollout adds a change to the rollout of its kind.
func (s *ActiveRules) AddToRollout(c *Change, last *rules.Rule) {
	ro := s.Rollouts[c.Of.Kind]
	if ro == nil {
		ro = &Rollout{Kind: c.Of.Kind, failure: c.Now.Rollout.OnFailure, states: map[ident.Request]reached{}}
		s.Rollouts[c.Of.Kind] = ro
	}
	ro.Progress.To += c.Hash()
	if limit := c.Now.Rollout.MaxUnavailable; limit != nil {
		ro.limits = append(ro.limits, *limit)
	}
	if first := c.Now.Rollout.First; first != nil && !slices.Contains(selectorsIn(ro.Progress.First), first.String()) {
		ro.Progress.First = strings.Join(append(selectorsIn(ro.Progress.First), first.String()), orElse)
	}
	ro.failure = slices.MinFunc([]rules.OnFailure{ro.failure, c.Now.Rollout.OnFailure}, func(a, b rules.OnFailure) int {
		order := []rules.OnFailure{rules.RevertOnFailure, rules.PauseOnFailure, rules.ContinueOnFailure}
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
	ro.Earlier = append(ro.Earlier, last)
}

// Resume takes the state of the rollouts from the inventory. What the user has changed since
// goes first to the primaries that a rollout had reached. Complete rollouts are over, and so
// are those of a dry run that the controller does not make.
func (s *ActiveRules) Resume(was *inventory.Recorded, dry DryRun) {
	maps.DeleteFunc(s.Rollouts, func(kind schema.GroupKind, ro *Rollout) bool {
		before, known := was.Rollouts[kind.String()]
		switch {
		case known && before.To == ro.Progress.To:
			ro.Progress = before
		case known && before.State == inventory.Paused:
			ro.goOn(inventory.Paused, before)
		case known && before.State != inventory.Undone:
			ro.goOn(inventory.Progressing, before)
		default:
			ro.Progress.State = inventory.Progressing
		}
		for _, text := range selectorsIn(ro.Progress.First) {
			if selector, err := labels.Parse(text); err == nil {
				ro.first = append(ro.first, selector)
			}
		}
		return ro.Progress.State == inventory.Complete || dry != nil && before.To != ro.Progress.To
	})
}

// goOn continues a rollout of an earlier version, in the order that it has begun with.
func (ro *Rollout) goOn(state inventory.RolloutState, from inventory.Rollout) {
	ro.Progress.State = state
	if ro.Progress.Reached = from.Reached; from.Reached > 0 {
		ro.Progress.First = from.First
	}
}

// orElse separates alternative selectors. No selector contains it.
const orElse = "; "

// selectorsIn returns the selectors in a text.
func selectorsIn(first string) []string {
	if first == "" {
		return nil
	}
	return strings.Split(first, orElse)
}

// KnowStates takes over what the rollouts of a plan for the same program know of the primaries.
func (s *ActiveRules) KnowStates(of *Plan) {
	for kind, ro := range s.Rollouts {
		before := of.Rollouts[kind]
		if before == nil || before.State().To != ro.Progress.To {
			continue
		}
		before.Mu.Lock()
		ro.states = maps.Clone(before.states)
		before.Mu.Unlock()
	}
}

// afterFirst is the lowest position of a primary that does not come first, in a rollout in which others do.
const afterFirst = 1 << 63

// PositionOf returns where a primary is in the order of the rollout. Cached is the object that the cache has under its
// name, or nil.
func (ro *Rollout) PositionOf(uid types.UID, cached *watch.Object) uint64 {
	sum := sha256.Sum256([]byte(uid))
	at := binary.BigEndian.Uint64(sum[:8])
	if len(ro.first) == 0 {
		return at
	}
	at >>= 1
	if cached != nil && cached.GetUID() == uid && slices.ContainsFunc(ro.first,
		func(s labels.Selector) bool { return s.Matches(rules.LabelsOf(cached.Content())) }) {
		return at
	}
	return at | afterFirst
}

// Reaches reports whether a primary has the new version. Cached is the object that the cache has under its name, or
// nil. What came of a primary that has lost the label of the first ones no longer counts: it may get the label again.
func (ro *Rollout) Reaches(req ident.Request, cached *watch.Object) bool {
	ro.Mu.Lock()
	defer ro.Mu.Unlock()
	if ro.PositionOf(req.UID, cached) < ro.Progress.Reached {
		return true
	}
	delete(ro.states, req)
	return false
}

// Note records what came of a primary with the new version.
func (ro *Rollout) Note(req ident.Request, o outcome.Outcome) {
	is := reached{state: o.State}
	if o.State == outcome.Stalled {
		is.message = o.Message()
	}
	ro.Mu.Lock()
	defer ro.Mu.Unlock()
	ro.states[req] = is
}

// Pending reports whether a plan has rules that do not take effect everywhere yet.
func (pl *Plan) Pending() bool { return len(pl.Holds) > 0 || len(pl.Rollouts) > 0 }

// Next returns the state after the next step of a rollout: the same if it waits.
func (ro *Rollout) Next(pk *PrimaryKind) inventory.Rollout {
	ro.Mu.Lock()
	defer ro.Mu.Unlock()
	is := ro.Progress
	cache, err := pk.Watch.Cache()
	if err != nil {
		return is
	}
	var rest []uint64
	stalled := ""
	is.Updated, is.Resources, is.FirstResources = 0, 0, 0
	waits := cache.Unlisted() != nil && !apierrors.IsForbidden(cache.Unlisted())
	for o := range cache.All() {
		req := ident.RequestFor(ro.Kind, o)
		if o.Terminating() || !pk.Follows(req.Namespace) {
			continue
		}
		is.Resources++
		at := ro.PositionOf(req.UID, o)
		if at < afterFirst && len(ro.first) > 0 {
			is.FirstResources++
		}
		if at >= is.Reached {
			rest = append(rest, at)
			continue
		}
		is.Updated++
		switch r, known := ro.states[req]; {
		case known && r.state == outcome.Stalled && ro.failure != rules.ContinueOnFailure:
			stalled = cmp.Or(stalled, fmt.Sprintf("%s is stalled: %s", req, r.message))
		case !known || r.state != outcome.Ready && r.state != outcome.Paused && r.state != outcome.Stalled:
			waits = true
		}
	}
	switch {
	case stalled != "":
		is.State, is.Message = inventory.Failed, stalled
		if ro.failure == rules.RevertOnFailure {
			is.State, is.Reached, is.Updated = inventory.Undone, 0, 0
		}
	case waits:
	case len(rest) == 0:
		is.State = inventory.Complete
	default:
		slices.Sort(rest)
		n := min(ro.wave(is.Resources), len(rest))
		if last := slices.IndexFunc(rest, func(at uint64) bool { return at >= afterFirst }); len(ro.first) > 0 && last > 0 {
			n = min(n, last)
		}
		is.Reached = rest[n-1] + 1
		is.Updated += n
	}
	return is
}

// wave returns how many primaries the next wave reaches: as many as the strictest rule allows.
func (ro *Rollout) wave(all int) int {
	least := all
	for i := range ro.limits {
		n, err := intstr.GetScaledValueFromIntOrPercent(&ro.limits[i], all, false)
		if err == nil && n < least {
			least = n
		}
	}
	return max(least, 1)
}

// State returns how far the rollout is.
func (ro *Rollout) State() inventory.Rollout {
	ro.Mu.Lock()
	defer ro.Mu.Unlock()
	return ro.Progress
}

// Forget removes a primary that is gone from the rollout.
func (ro *Rollout) Forget(req ident.Request) {
	ro.Mu.Lock()
	defer ro.Mu.Unlock()
	delete(ro.states, req)
}
