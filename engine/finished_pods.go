package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// Pods that end are replaced, the more of them have ended lately the later.
const (
	lately     = 10 * time.Minute
	firstPause = 10 * time.Second // doubled for each that has ended, up to mostFinished
)

// backOff returns how long the creation of new replicas waits, and why: Pods that
// end as soon as they have begun must not be made anew all the time.
func (p *pass) backOff(c *rules.ChildResult) (rest time.Duration, why string) {
	now := p.engine.clock.Now()
	count, youngest := 0, time.Time{}
	// Those that are about to go do not count.
	for _, live := range c.Finished[:min(len(c.Finished), mostFinished)] {
		at := finishedAt(live.Object)
		if now.Sub(at) > lately {
			continue
		}
		count++
		if at.After(youngest) {
			youngest = at
		}
	}
	if count < 2 {
		return 0, ""
	}
	pause := firstPause << (count - 2)
	if rest = youngest.Add(pause).Sub(now); rest <= 0 {
		return 0, ""
	}
	return rest, fmt.Sprintf("waits %s: %d Pods finished recently", inSeconds(pause), count)
}

// inSeconds prints a duration up to some minutes: 20 s. It is that of the whole
// pause and not of its rest, which would be news every second.
func inSeconds(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }

// finishedAt returns when a Pod has ended: the end of its last container, or if
// that is not told when it ceased to be ready, or else when it was created.
func finishedAt(pod map[string]any) (at time.Time) {
	latest := func(text string) {
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.After(at) {
			at = t
		}
	}
	statuses, _, _ := unstructured.NestedSlice(pod, "status", "containerStatuses")
	for _, s := range statuses {
		status, _ := s.(map[string]any)
		text, _, _ := unstructured.NestedString(status, "state", "terminated", "finishedAt")
		latest(text)
	}
	if !at.IsZero() {
		return at
	}
	conditions, _, _ := unstructured.NestedSlice(pod, "status", "conditions")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == "Ready" {
			text, _ := condition["lastTransitionTime"].(string)
			latest(text)
		}
	}
	if at.IsZero() {
		text, _, _ := unstructured.NestedString(pod, "metadata", "creationTimestamp")
		latest(text)
	}
	return at
}

// mostFinished is how many replicas that have ended are kept to be looked at.
const mostFinished = 5
