package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/engine/inventory"
	"reconcel/rules"
)

// A rollout brings the new versions of rules to the primaries of one kind in waves. A
// primary has the new version if its position is below a limit, so a new process continues
// with the same primaries.
type rollout struct {
	kind    schema.GroupKind
	limits  []intstr.IntOrString // maxUnavailable of its rules
	failure rules.OnFailure
	earlier []*rules.Rule // the versions that its rules had before

	mu     sync.Mutex
	is     inventory.Rollout
	states map[Request]state // of primaries that were reconciled with the new version
}

// inWaves reports whether a change reaches primaries one after another.
func (c *change) inWaves() bool { return c.now != nil && c.now.Rollout.MaxUnavailable != nil }

// addToRollout adds a change to the rollout of its kind.
func (s *succession) addToRollout(c *change, last *rules.Rule) {
	ro := s.rollouts[c.of.kind]
	if ro == nil {
		ro = &rollout{kind: c.of.kind, failure: c.now.Rollout.OnFailure, states: map[Request]state{}}
		s.rollouts[c.of.kind] = ro
	}
	ro.is.To += c.hash()
	ro.limits = append(ro.limits, *c.now.Rollout.MaxUnavailable)
	ro.failure = slices.MinFunc([]rules.OnFailure{ro.failure, c.now.Rollout.OnFailure}, func(a, b rules.OnFailure) int {
		order := []rules.OnFailure{rules.RevertOnFailure, rules.PauseOnFailure, rules.ContinueOnFailure}
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
	ro.earlier = append(ro.earlier, last)
}

// resume takes the state of the rollouts from the inventory. What the user has changed since
// goes first to the primaries that a rollout had reached. Complete rollouts are over, and so
// are those of a dry run that the controller does not make.
func (s *succession) resume(was *inventory.Recorded, dry *dryRun) {
	maps.DeleteFunc(s.rollouts, func(kind schema.GroupKind, ro *rollout) bool {
		before, known := was.Rollouts[kind.String()]
		switch {
		case known && before.To == ro.is.To:
			ro.is = before
		case known && before.State == inventory.Paused:
			ro.is.State, ro.is.Reached = inventory.Paused, before.Reached
		case known && before.State != inventory.Undone:
			ro.is.State, ro.is.Reached = inventory.Progressing, before.Reached
		default:
			ro.is.State = inventory.Progressing
		}
		return ro.is.State == inventory.Complete || dry != nil && before.To != ro.is.To
	})
}

// positionOfPrimary returns where a primary is in the order of all rollouts.
func positionOfPrimary(uid types.UID) uint64 {
	sum := sha256.Sum256([]byte(uid))
	return binary.BigEndian.Uint64(sum[:8])
}

// reaches reports whether a primary has the new version.
func (ro *rollout) reaches(uid types.UID) bool {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	return positionOfPrimary(uid) < ro.is.Reached
}

// note records the state of a primary with the new version.
func (ro *rollout) note(req Request, s state) {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	ro.states[req] = s
}

// noteRollout tells the rollout that has brought the rules to this primary what came of it.
func (p *pass) noteRollout(s state) {
	if p.primary.next == nil {
		p.primary.rollout.note(p.req, s)
	}
}
