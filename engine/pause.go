package engine

import (
	"context"
	"time"

	"reconcel/rules"
)

const pausedMessage = "paused by the annotation " + rules.AnnotationPaused

// A pauseState is whether a primary is paused, as far as this process has
// reported it.
type pauseState int

const (
	unknown pauseState = iota // not reconciled yet
	resting                   // paused, and reported
	running                   // not paused
)

// skipPaused reports the pause of a primary with the pause annotation and skips
// its reconciliation. The rest of its status stays as it is.
func (p *pass) skipPaused(ctx context.Context, now time.Time) (Result, error) {
	p.countPaused()
	p.memory.reads.Retain()
	if !p.matches() && !p.primary.hasFinalizer(p.self) {
		return Result{}, nil // No rule manages it.
	}
	if p.memory.pause == running || p.memory.pause == unknown && !p.saysPaused() {
		p.engine.log.Info("resource paused", "object", p.req.String())
		p.tellState(reasonPaused, pausedMessage)
	}
	p.memory.pause = resting
	total := outcome{state: paused, reason: reasonPaused, text: pausedMessage}
	if p.primary.watch.Selector != "" {
		total.retry = forbiddenRetry // The watch may not show the end of the pause.
	}
	return p.status(ctx, total, now).result()
}

func (p *pass) resume() {
	if p.memory.pause == resting || p.memory.pause == unknown && p.saysPaused() {
		p.engine.log.Info("resource resumed", "object", p.req.String())
		p.tellState(reasonResumed, "the annotation "+rules.AnnotationPaused+" is removed or false")
	}
	p.memory.pause = running
}

// reportPauseIgnored reports, once for each message, that a pause annotation has
// no effect. A user who pauses a primary in an emergency must learn of a typo.
func (p *pass) reportPauseIgnored() {
	mistake := rules.PauseMistake(p.self.Content())
	if mistake != "" && mistake != p.memory.pauseMistake && (p.matches() || p.primary.hasFinalizer(p.self)) {
		p.engine.log.Warn("pause ignored", "object", p.req.String(), "reason", reasonPauseIgnored, "message", mistake)
		p.engine.events.warning(p.self, reasonPauseIgnored, mistake)
	}
	p.memory.pauseMistake = mistake
}

// saysPaused reports whether the primary's Ready condition, written by this
// process or an earlier one, has the reason for a pause.
func (p *pass) saysPaused() bool {
	return liveConditions(p.self.Content())[conditionReady]["reason"] == reasonPaused
}

// frozen reports whether the rule must not write to the primary now.
func (p *pass) frozen(r *rules.RuleResult) bool {
	return r.Teardown || p.self.Paused() || p.suspended(r.Rule)
}
