package rules

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/rules/syntax"
)

// A Rollout says how a changed version of a rule reaches its primaries.
type Rollout struct {
	MaxDeletions   *intstr.IntOrString // nil: the default of the installation
	MaxUnavailable *intstr.IntOrString // nil: all at once
	OnFailure      OnFailure
}

// OnFailure is what a rollout does when a primary that it has reached is stalled.
type OnFailure string

// The values of OnFailure.
const (
	ContinueOnFailure OnFailure = syntax.RolloutContinue
	PauseOnFailure    OnFailure = syntax.RolloutPause
	RevertOnFailure   OnFailure = syntax.RolloutRevert
)

func rolloutOf(src syntax.Rollout) Rollout {
	return Rollout{src.MaxDeletions, src.MaxUnavailable, cmp.Or(OnFailure(src.OnFailure.Value), PauseOnFailure)}
}

// Compose returns a program in which the given rules, of other programs, stand for those of
// the same name and kind. A rule whose name the program does not have for its kind is added.
func (p *Program) Compose(others ...*Rule) *Program {
	if len(others) == 0 {
		return p
	}
	composed := &Program{sources: p.sources, expressions: p.expressions}
	replaced := map[*Rule]bool{}
	for _, primary := range p.primaries {
		next := &Primary{GVK: primary.GVK}
		for _, r := range primary.Rules {
			for _, other := range others {
				if other.GVK.GroupKind() == r.GVK.GroupKind() && other.Name == r.Name {
					r, replaced[other] = other, true
				}
			}
			next.Rules = append(next.Rules, r)
		}
		composed.primaries = append(composed.primaries, next)
	}
	for _, other := range others {
		if !replaced[other] {
			composed.adopt(other)
		}
	}
	composed.reads = composed.computeReads()
	return composed
}

// adopt adds a rule. A kind is watched in one version, that of the program.
func (p *Program) adopt(r *Rule) {
	for _, primary := range p.primaries {
		if primary.GVK.GroupKind() == r.GVK.GroupKind() {
			primary.Rules = append(primary.Rules, r)
			return
		}
	}
	p.primaries = append(p.primaries, &Primary{GVK: r.GVK, Rules: []*Rule{r}})
}
