package engine

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A trouble is the last reported reason why a primary is not ready.
type trouble struct {
	reason  string // "": none
	message string
	since   time.Time
	// inherited means that an earlier process has sent the Event, as the status shows.
	inherited bool
}

// waitingPatience is how long a primary waits or retries before an Event reports it.
const waitingPatience = 30 * time.Second

// report logs and sends Events when the state of the primary changes. Events
// report transitions only. The same trouble is reported once, even across a
// restart.
func (p *pass) report(total outcome) (wait time.Duration) {
	m := p.memory
	if !m.reconciled {
		m.trouble = p.inherited()
	}
	if total.state != ready {
		m.dirty = true
	}
	switch total.state {
	case ready:
		p.reportRecovered()
		if !p.refused() {
			p.reportSynced()
		}
		m.reported, m.waitingSince = nil, time.Time{}
	case waiting:
		wait = p.reportLasting(total, "resource waiting")
	case retrying:
		wait = p.reportLasting(total, "resource retrying")
	case stalled:
		p.reportTrouble(total, "resource stalled")
	}
	p.reportKept(total.kept)
	return wait
}

// inherited returns the trouble in the status, which an earlier process has
// already reported in an Event.
func (p *pass) inherited() trouble {
	if p.refused() {
		return trouble{} // Another installation writes the status.
	}
	live := liveConditions(p.self.Content())
	c, patience := live[conditionStalled], time.Duration(0)
	if c["status"] != string(metav1.ConditionTrue) {
		c, patience = live[conditionReconciling], waitingPatience
		if c["reason"] != reasonWaiting && c["reason"] != reasonRetrying {
			return trouble{}
		}
	}
	reason, _ := c["reason"].(string)
	message, _ := c["message"].(string)
	at, _ := c["lastTransitionTime"].(string)
	since, err := time.Parse(time.RFC3339, at)
	if err != nil || p.engine.clock.Now().Sub(since) < patience {
		return trouble{}
	}
	return trouble{reason, message, since, true}
}

func (p *pass) reportTrouble(total outcome, what string) {
	m, message := p.memory, total.message()
	same := m.trouble.reason == total.reason && m.trouble.message == message
	if same && !m.trouble.inherited {
		return
	}
	since := m.trouble.since
	if m.trouble.reason == "" {
		since = p.engine.clock.Now()
	}
	m.trouble = trouble{reason: total.reason, message: message, since: since}
	//nolint:sloglint // One of three constants.
	p.engine.log.Warn(what, "object", p.req.String(), "rule", total.at.rule, "child", total.at.id(),
		"reason", total.reason, "message", total.logged())
	if !same {
		p.engine.events.warning(p.self, total.reason, message)
	}
}

// reportLasting reports a trouble that may end by itself, once it has lasted for some time. It returns how long
// to wait until then.
func (p *pass) reportLasting(total outcome, what string) (wait time.Duration) {
	m, now := p.memory, p.engine.clock.Now()
	if m.waitingSince.IsZero() {
		m.waitingSince = now
	}
	if rest := waitingPatience - now.Sub(m.waitingSince); rest > 0 {
		return rest
	}
	p.reportTrouble(total, what)
	return 0
}

func (p *pass) reportRecovered() {
	m := p.memory
	if m.trouble.reason == "" {
		return
	}
	after := p.engine.clock.Now().Sub(m.trouble.since).Round(time.Second)
	p.engine.log.Info("resource recovered", "object", p.req.String(), "previous", m.trouble.reason, "duration", after)
	p.engine.events.normal(p.self, reasonRecovered, fmt.Sprintf("ready again, after %s for %s", m.trouble.reason, after))
	m.trouble = trouble{}
}

// reportSynced reports when a generation becomes ready for the first time.
func (p *pass) reportSynced() {
	if _, known := p.cache.Conditions(); !known {
		return // Whether a condition says so is not known yet. The primary is enqueued when it is.
	}
	m, generation := p.memory, p.generation()
	// Without a change it was already ready when the process started.
	known := !m.dirty || m.synced && m.syncedAt == generation || !m.synced && p.saysReady(generation)
	m.dirty, m.synced, m.syncedAt = false, true, generation
	if known {
		return
	}
	p.engine.logActivity(logEntry{what: "resource synced", object: p.req.String(), kind: p.req.Kind.Kind})
	p.tellState(reasonSynced, fmt.Sprintf("%s is up to date", p.req.Kind.Kind))
}

// saysReady reports whether the Ready condition in the cached status is already
// True for the generation, for example from an earlier process.
func (p *pass) saysReady(generation int64) bool {
	c := liveConditions(p.self.Content())[conditionReady]
	observed, _ := c["observedGeneration"].(int64)
	return c["status"] == string(metav1.ConditionTrue) && observed == generation
}
