package syntax

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/rules/source"
)

// Values of onFailure.
const (
	RolloutContinue = "continue"
	RolloutPause    = "pause"
	RolloutRevert   = "revert"
)

// failures are what a rollout does when a primary that it has reached fails.
var failures = source.Choices{
	{Text: RolloutPause, Doc: "The rollout stops until the rule changes again or `reconcel rollout resume`. The " +
		"primaries that it has reached keep the new version."},
	{Text: RolloutRevert, Doc: "The rollout stops, and the primaries that it has reached get the version from before."},
	{Text: RolloutContinue, Doc: "The rollout does not wait for primaries that are `Stalled`."},
}

var rolloutShape = source.Shape{
	Doc: "How a changed version of the rule reaches its primaries.",
	Keys: []source.Key{
		{Name: "maxDeletions", Value: amount(0), Default: "--max-deletions",
			Doc: "How many objects a changed version may delete or replace at once: a number, or a percentage of the rule's " +
				"objects. " +
				"A version beyond it is held until `reconcel approve`."},
		{Name: "maxUnavailable", Value: amount(1),
			Doc: "How many primaries a changed version reaches at a time: a number, or a percentage of all. " +
				"The next ones follow when these are ready. By default it reaches all at once."},
		{Name: "first", Value: orNothing(selectorShape.Schema()),
			Doc: "A label selector of the primaries that a changed version reaches first. " +
				"The others follow when these are ready."},
		{Name: "onFailure", Value: failures.Schema(), Default: RolloutPause,
			Doc: "What happens when a primary that the new version has reached is `Stalled`. It needs `maxUnavailable` or `first`."},
	},
	Wrong: map[string]source.WrongKey{
		"pauseOnFailure": {Hint: "write onFailure: pause"},
		"revert":         {Hint: "write onFailure: revert"},
		"canary":         {Hint: "write first: {matchLabels: {...}}", Means: "first"},
		"selector":       {Hint: "write first: {matchLabels: {...}}", Means: "first"},
		"partition":      {Hint: "write first for the primaries that come first, maxUnavailable for how many at a time"},
		"maxSurge":       {Hint: "a rollout changes the primaries that there are: write maxUnavailable"},
	},
}

// amount is a number with a minimum, or a percentage.
func amount(least int) *source.Schema {
	percent := &source.Schema{Type: source.Types{"string"}, Pattern: `^(100|[0-9]{1,2})%$`,
		Expected: "Expected a number, or a percentage like 10%."}
	if least > 0 {
		percent.Pattern = `^(100|[1-9][0-9]?)%$`
	}
	s := source.EitherOf(source.WholeNumber(least), percent)
	s.Type = source.Types{"string", "integer"}
	return s
}

// A Rollout says how a changed rule reaches its primaries. Limits are nil unless they are
// written.
type Rollout struct {
	MaxDeletions   *intstr.IntOrString
	MaxUnavailable *intstr.IntOrString
	First          *source.Node  // a literal metav1.LabelSelector, or nil
	OnFailure      source.String // "", "pause", "revert" or "continue"
}

func readRollout(v source.Value) Rollout {
	if v.Missing() {
		return Rollout{}
	}
	t := v.Table(&rolloutShape)
	r := Rollout{
		MaxDeletions:   readAmount(t.Key("maxDeletions"), 0),
		MaxUnavailable: readAmount(t.Key("maxUnavailable"), 1),
		OnFailure:      t.Key("onFailure").OneOf(failures),
	}
	if first := t.Key("first"); !first.IsNull() {
		r.First = readLiteralSelector(first, "write the labels out: a rollout goes by the labels of the primaries alone")
	}
	if p, written := t.Written("onFailure"); written && t.Key("maxUnavailable").Missing() && t.Key("first").IsNull() {
		v.ErrorAt(p, "onFailure needs maxUnavailable or first: without them a new version reaches all primaries at "+
			"once").Hint = "add maxUnavailable, like 10%"
	}
	return r
}

var wholeAmount = regexp.MustCompile(`^(?:[0-9]{1,6}|(?:100|[0-9]{1,2})%)$`)

// readAmount reads a literal number, or a percentage of at most 100.
func readAmount(v source.Value, least int) *intstr.IntOrString {
	if v.Missing() || v.Broken() {
		return nil
	}
	if !v.IsScalar() || !wholeAmount.MatchString(v.Scalar()) {
		v.Errorf("expected a number or a percentage, got %s", v.Describe()).Hint = "write it like 5 or 10%"
		return nil
	}
	n := intstr.Parse(v.Scalar())
	if of100, _ := intstr.GetScaledValueFromIntOrPercent(&n, 100, true); of100 < least {
		v.Errorf("must be at least %d, got %s", least, v.Scalar())
		return nil
	}
	return &n
}
