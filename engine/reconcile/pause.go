package reconcile

import (
	"context"
	"time"

	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/report"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// skipPaused reports the pause of a primary with the pause annotation and skips
// its reconciliation. The rest of its status stays as it is.
func (p *Pass) skipPaused(ctx context.Context, now time.Time) (outcome.Result, error) {
	p.countPaused()
	if p.Primary.Rollout != nil {
		p.noteRollout(outcome.Outcome{State: outcome.Paused}) // A rollout does not wait for it.
	}
	p.Memory.Reads.Retain()
	if !p.View.Matches() && !p.Primary.HasFinalizer(p.Self) {
		if !p.Cached && (p.Cluster.IsMarked(p.Primary, p.Self) || p.Primary.HasChild(p.Req, anyChild)) {
			return outcome.Result{RequeueAfter: outcome.ForbiddenRetry}, nil // The watch does not show the end of the pause.
		}
		return outcome.Result{}, nil // No rule manages it.
	}
	if p.Memory.Pause == plan.Running || p.Memory.Pause == plan.Unknown && !p.saysPaused() {
		p.Log.Info("resource paused", "object", p.Req.String())
		p.journal.TellState(outcome.ReasonPaused, plan.PausedMessage)
	}
	p.Memory.Pause = plan.Resting
	total := outcome.Outcome{State: outcome.Paused, Reason: outcome.ReasonPaused, Text: plan.PausedMessage}
	if p.Primary.Watch.Selector != "" {
		total.Retry = outcome.ForbiddenRetry // The watch may not show the end of the pause.
	}
	return p.Reporter.Status(ctx, total, now).Result()
}

func anyChild(*watch.Object) bool { return true }

func (p *Pass) resume() {
	if p.Memory.Pause == plan.Resting || p.Memory.Pause == plan.Unknown && p.saysPaused() {
		p.Log.Info("resource resumed", "object", p.Req.String())
		p.journal.TellState(outcome.ReasonResumed, "the annotation "+rules.AnnotationPaused+" is removed or false")
	}
	p.Memory.Pause = plan.Running
}

// reportPauseIgnored reports, once for each message, that a pause annotation has
// no effect. A user who pauses a primary in an emergency must learn of a typo.
func (p *Pass) reportPauseIgnored() {
	mistake := rules.PauseMistake(p.Self.Content())
	if mistake != "" && mistake != p.Memory.PauseMistake && (p.View.Matches() || p.Primary.HasFinalizer(p.Self)) {
		p.Log.Warn("pause ignored", "object", p.Req.String(), "reason", outcome.ReasonPauseIgnored, "message", mistake)
		p.Events.Warning(p.Self, outcome.ReasonPauseIgnored, mistake)
	}
	p.Memory.PauseMistake = mistake
}

// saysPaused reports whether the primary's Ready condition, written by this
// process or an earlier one, has the reason for a pause.
func (p *Pass) saysPaused() bool {
	return report.LiveConditions(p.Self.Content())[outcome.ConditionReady]["reason"] == outcome.ReasonPaused
}
