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
	if p.retryTimedOut(); p.retry != 0 {
		t.Errorf("without a timeout it is tried again after %v", p.retry)
	}
	p.rendering.Rules[1].TimedOut = true
	if p.retryTimedOut(); p.retry < refusedRetry/2 || p.retry > 2*refusedRetry {
		t.Errorf("it is tried again after %v, not in about %v", p.retry, refusedRetry)
	}
}

// A message that the API server does not take would keep the whole status from
// being written.
func TestFailuresAreCut(t *testing.T) {
	long := position{}.failed(&rules.Failure{Reason: rules.RuleError, Message: strings.Repeat("ä", 20_000)})
	if len(long.message()) > 32_768 || !utf8.ValidString(long.message()) || !strings.HasSuffix(long.message(), "ä…") {
		t.Errorf("%d bytes that end in %q", len(long.message()), long.message()[len(long.message())-10:])
	}
	if short := (position{}).failed(&rules.Failure{Message: "why"}); short.message() != "why" {
		t.Error(short.message())
	}
}
