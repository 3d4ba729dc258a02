package engine

import (
	"context"
	"time"

	"reconcel/rules"
)

const pausedMessage = "paused by the annotation " + rules.AnnotationPaused

// A pauseState is what this process knows of a primary's pause.
type pauseState int

const (
	unknown pauseState = iota // it has not looked yet
	resting                   // it is paused, and people know
	running                   // it is not
)

// leaveAlone leaves a primary alone whose annotation asks for it, and says so. What
// its status says besides stays.
func (p *pass) leaveAlone(ctx context.Context, now time.Time) (Result, error) {
	p.countPaused()
	p.memory.reads.Retain()
	if !p.matches() && !p.primary.held(p.self) {
		return Result{}, nil // It is no business of ours.
	}
	if p.memory.pause == running || p.memory.pause == unknown && !p.saysPaused() {
		p.engine.log.Info("resource paused", "object", p.req.String())
		p.engine.events.normal(p.self, reasonPaused, pausedMessage)
	}
	p.memory.pause = resting
	total := outcome{state: paused, reason: reasonPaused, text: pausedMessage}
	if p.primary.watch.Selector != "" {
		total.retry = forbiddenRetry // The watch may not show the end of the pause.
	}
	return p.status(ctx, total, now).result()
}

// resume tells people that a pause is over.
func (p *pass) resume() {
	if p.memory.pause == resting || p.memory.pause == unknown && p.saysPaused() {
		p.engine.log.Info("resource resumed", "object", p.req.String())
		p.engine.events.normal(p.self, reasonResumed, "the annotation "+rules.AnnotationPaused+" is removed or false")
	}
	p.memory.pause = running
}

// tellPauseIgnored tells people, once for each message, that what they have
// written to pause the primary has no effect. At 3 am that is the button.
func (p *pass) tellPauseIgnored() {
	mistake := rules.PauseMistake(p.self.Content())
	if mistake != "" && mistake != p.memory.pauseMistake && (p.matches() || p.primary.held(p.self)) {
		p.engine.log.Warn("pause ignored", "object", p.req.String(), "reason", reasonPauseIgnored, "message", mistake)
		p.engine.events.warning(p.self, reasonPauseIgnored, mistake)
	}
	p.memory.pauseMistake = mistake
}

// saysPaused reports whether the primary's status, written by this process or
// an earlier one, says that it is paused.
func (p *pass) saysPaused() bool {
	return liveConditions(p.self.Content())[conditionReady]["reason"] == reasonPaused
}

// frozen reports whether a rule has nothing to say of the primary now.
func (p *pass) frozen(r *rules.RuleResult) bool { return r.Leaving || p.self.Paused() }
