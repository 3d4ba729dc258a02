package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"reconcel/rules"
)

func TestTimedOutIsTriedAgain(t *testing.T) {
	p := &pass{engine: &Engine{random: rand.Float64}, rendering: &rules.Rendering{Rules: []rules.RuleResult{{}, {}}}}
	if wait := p.retryTimedOut(); wait != 0 {
		t.Errorf("without a timeout it is tried again after %v", wait)
	}
	p.rendering.Rules[1].TimedOut = true
	if wait := p.retryTimedOut(); wait < refusedRetry/2 || wait > 2*refusedRetry {
		t.Errorf("it is tried again after %v, not in about %v", wait, refusedRetry)
	}
}

// TestFailuresAreCut limits the length of messages. The API server rejects the whole
// status if one message is too long.
func TestFailuresAreCut(t *testing.T) {
	long := position{}.failed(&rules.Failure{Reason: rules.RuleError, Message: strings.Repeat("ä", 20_000)})
	if len(long.message()) > 32_768 || !utf8.ValidString(long.message()) || !strings.HasSuffix(long.message(), "ä…") {
		t.Errorf("%d bytes that end in %q", len(long.message()), long.message()[len(long.message())-10:])
	}
	if short := (position{}).failed(&rules.Failure{Message: "why"}); short.message() != "why" {
		t.Error(short.message())
	}
}
