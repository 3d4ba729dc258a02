package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"reconcel/engine/access"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

func TestTimedOutIsTriedAgain(t *testing.T) {
	p := passFor(access.Subject{Shared: &access.Shared{Random: rand.Float64}, Rendering: &rules.Rendering{Rules: []rules.RuleResult{{}, {}}}})
	if wait := p.RetryTimedOut(); wait != 0 {
		t.Errorf("without a timeout it is tried again after %v", wait)
	}
	p.Rendering.Rules[1].TimedOut = true
	if wait := p.RetryTimedOut(); wait < outcome.RefusedRetry/2 || wait > 2*outcome.RefusedRetry {
		t.Errorf("it is tried again after %v, not in about %v", wait, outcome.RefusedRetry)
	}
}

// TestFailuresAreCut limits the length of messages. The API server rejects the whole
// status if one message is too long.
func TestFailuresAreCut(t *testing.T) {
	long := outcome.Position{}.Failed(&rules.Failure{Reason: rules.RuleError, Message: strings.Repeat("ä", 20_000)})
	if len(long.Message()) > 32_768 || !utf8.ValidString(long.Message()) || !strings.HasSuffix(long.Message(), "ä…") {
		t.Errorf("%d bytes that end in %q", len(long.Message()), long.Message()[len(long.Message())-10:])
	}
	if short := (outcome.Position{}).Failed(&rules.Failure{Message: "why"}); short.Message() != "why" {
		t.Error(short.Message())
	}
}
