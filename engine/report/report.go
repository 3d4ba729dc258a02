package report

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/outcome"
	"reconcel/engine/write"
	"reconcel/rules"
)

// A Reporter tells users what came of a reconciliation: status, log, Events.
type Reporter struct {
	*access.Subject
	View    *access.View
	Reader  *access.Reader
	Answers *access.Answers
	Journal *access.Journal
	Patches *write.Patches
}

// waitingPatience is how long a primary waits or retries before an Event reports it.
const waitingPatience = 30 * time.Second

// Report logs and sends Events when the state of the primary changes. Events
// report transitions only. The same trouble is reported once, even across a
// restart.
func (r *Reporter) Report(total outcome.Outcome) (wait time.Duration) {
	m := r.Memory
	if !m.Reconciled {
		m.Trouble = r.inherited()
	}
	if total.State != outcome.Ready {
		m.Dirty = true
	}
	switch total.State {
	case outcome.Ready:
		r.reportRecovered()
		if !r.View.Refused() {
			r.reportSynced()
		}
		m.Reported, m.WaitingSince = nil, time.Time{}
		if total.Err == nil && total.Retry == 0 { // Otherwise something may have failed that the state does not show.
			m.Wordings, m.Undeleted = nil, nil
		}
	case outcome.Progressing:
		m.WaitingSince = time.Time{}
	case outcome.Waiting:
		wait = r.reportLasting(total, "resource waiting")
	case outcome.Retrying:
		wait = r.reportLasting(total, "resource retrying")
	case outcome.Stalled:
		r.reportTrouble(total, "resource stalled")
	}
	r.reportKept(total.Kept)
	return wait
}

// inherited returns the trouble in the status, which an earlier process has
// already reported in an Event.
func (r *Reporter) inherited() access.Trouble {
	if r.View.Refused() {
		return access.Trouble{} // Another installation writes the status.
	}
	live := LiveConditions(r.Self.Content())
	c, patience := live[outcome.ConditionStalled], time.Duration(0)
	if c["status"] != string(metav1.ConditionTrue) {
		c, patience = live[outcome.ConditionReconciling], waitingPatience
		if c["reason"] != outcome.ReasonWaiting && c["reason"] != outcome.ReasonRetrying {
			return access.Trouble{}
		}
	}
	reason, _ := c["reason"].(string)
	message, _ := c["message"].(string)
	at, _ := c["lastTransitionTime"].(string)
	since, err := time.Parse(time.RFC3339, at)
	if err != nil || r.Clock.Now().Sub(since) < patience {
		return access.Trouble{}
	}
	return access.Trouble{Reason: reason, Message: message, Since: since, Inherited: true}
}

func (r *Reporter) reportTrouble(total outcome.Outcome, what string) {
	m, message := r.Memory, total.Message()
	same := m.Trouble.Reason == total.Reason && (m.Trouble.Message == message || m.Trouble.Inherited &&
		answer.Shape(m.Trouble.Message) == answer.Shape(message))
	if same && !m.Trouble.Inherited {
		return
	}
	since := m.Trouble.Since
	if m.Trouble.Reason == "" {
		since = r.Clock.Now()
	}
	m.Trouble = access.Trouble{Reason: total.Reason, Message: message, Since: since}
	//nolint:sloglint // One of three constants.
	r.Log.Warn(what, "object", r.Req.String(), "rule", total.At.Rule, "child", total.At.ID(),
		"reason", total.Reason, "message", total.Logged())
	if !same {
		r.Events.Warning(r.Self, total.Reason, message)
	}
}

// reportLasting reports a trouble that may end by itself, once it has lasted for some time. It returns how long
// to wait until then.
func (r *Reporter) reportLasting(total outcome.Outcome, what string) (wait time.Duration) {
	m, now := r.Memory, r.Clock.Now()
	if m.WaitingSince.IsZero() {
		m.WaitingSince = now
	}
	if rest := waitingPatience - now.Sub(m.WaitingSince); rest > 0 {
		return rest
	}
	r.reportTrouble(total, what)
	return 0
}

func (r *Reporter) reportRecovered() {
	m := r.Memory
	if m.Trouble.Reason == "" {
		return
	}
	after := r.Clock.Now().Sub(m.Trouble.Since).Round(time.Second)
	r.Log.Info("resource recovered", "object", r.Req.String(), "previous", m.Trouble.Reason, "duration", after)
	r.Events.Normal(r.Self, outcome.ReasonRecovered, fmt.Sprintf("ready again, after %s for %s", m.Trouble.Reason, after))
	m.Trouble = access.Trouble{}
}

// reportSynced reports when a generation becomes ready for the first time.
func (r *Reporter) reportSynced() {
	if _, known := r.Cache.Conditions(); !known {
		return // Whether a condition says so is not known yet. The primary is enqueued when it is.
	}
	m, generation := r.Memory, r.View.Generation()
	// Without a change it was already ready when the process started.
	known := !m.Dirty || m.Synced && m.SyncedAt == generation || !m.Synced && r.saysReady(generation)
	m.Dirty, m.Synced, m.SyncedAt = false, true, generation
	if known {
		return
	}
	r.Cluster.LogActivity(access.LogEntry{What: "resource synced", Object: r.Req.String(), Kind: r.Req.Kind.Kind})
	r.Journal.TellState(outcome.ReasonSynced, fmt.Sprintf("%s is up to date", r.Req.Kind.Kind))
}

// saysReady reports whether the Ready condition in the cached status is already
// True for the generation, for example from an earlier process.
func (r *Reporter) saysReady(generation int64) bool {
	c := LiveConditions(r.Self.Content())[outcome.ConditionReady]
	observed, _ := c["observedGeneration"].(int64)
	return c["status"] == string(metav1.ConditionTrue) &&
		(observed == generation || !r.Cache.HasConditionField("observedGeneration"))
}

// frozen reports whether the rule must not write to the primary now.
func (s *StatusDraft) frozen(r *rules.RuleResult) bool {
	return r.Teardown || s.Self.Paused() || s.view.Suspended(r.Rule)
}
