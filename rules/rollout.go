package rules

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// A Rollout says how a changed version of a rule reaches its primaries.
type Rollout struct {
	MaxDeletions   *intstr.IntOrString // nil: the default of the installation
	MaxUnavailable *intstr.IntOrString // nil: all at once
	First          labels.Selector     // of the primaries that come first; nil: none do
	OnFailure      OnFailure
}

// InWaves reports whether a changed version reaches some primaries before others.
func (r Rollout) InWaves() bool { return r.MaxUnavailable != nil || r.First != nil }

// OnFailure is what a rollout does when a primary that it has reached is stalled.
type OnFailure string

// The values of OnFailure.
const (
	ContinueOnFailure OnFailure = syntax.RolloutContinue
	PauseOnFailure    OnFailure = syntax.RolloutPause
	RevertOnFailure   OnFailure = syntax.RolloutRevert
)

// compileRollout compiles how a changed version of the rule reaches its primaries.
func (c *compiler) compileRollout() {
	src := c.src.Rollout
	c.rule.Rollout = Rollout{MaxDeletions: src.MaxDeletions, MaxUnavailable: src.MaxUnavailable,
		OnFailure: cmp.Or(OnFailure(src.OnFailure.Value), PauseOnFailure)}
	if src.First == nil {
		return
	}
	first, err := expr.SelectorOf(src.First.Plain())
	switch {
	case err != nil:
		c.expressions.complain(src.First.Pos, "rollout.first: %v", err)
	case first.Empty():
		c.expressions.complain(src.First.Pos, "rollout.first: selects all primaries, so that none comes first").Hint =
			"write it like {matchLabels: {canary: \"true\"}}, or remove it"
	default:
		c.rule.Rollout.First = first
	}
}

// Compose returns a program in which the given rules, of other programs, stand for those of
// the same name and kind. A rule whose name the program does not have for its kind is added.
func (p *Program) Compose(others ...*Rule) *Program {
	if len(others) == 0 {
		return p
	}
	composed := &Program{sources: p.sources, documents: p.documents, expressions: p.expressions,
		incomplete: p.incomplete, foreign: map[*Rule]bool{}}
	maps.Copy(composed.foreign, p.foreign)
	for _, other := range others {
		composed.foreign[other] = true
	}
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

// Sorted returns the program with the rules for each kind in another order.
func (p *Program) Sorted(compare func(a, b *Rule) int) *Program {
	sorted := *p
	sorted.primaries = nil
	for _, primary := range p.primaries {
		sorted.primaries = append(sorted.primaries,
			&Primary{GVK: primary.GVK, Rules: slices.SortedStableFunc(slices.Values(primary.Rules), compare)})
	}
	return &sorted
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
