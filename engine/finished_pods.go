package engine

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/rules"
)

// Finished Pods are replaced with a delay that grows with their recent number.
const (
	lately     = 10 * time.Minute
	firstPause = 10 * time.Second // for two; doubled for each further one, up to mostFinished
)

// backOff returns how long the creation of new replicas waits, and why: Pods that
// finish as soon as they start must not be recreated without a pause.
func (p *pass) backOff(c *rules.ChildResult) (rest time.Duration, why string) {
	now := p.engine.clock.Now()
	count, youngest := 0, time.Time{}
	// Pods beyond mostFinished are about to be deleted.
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

// inSeconds formats a duration of up to some minutes: 20 s. Messages have the whole
// pause, because the remaining time would change every second.
func inSeconds(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }

// finishedAt returns when a Pod finished: the end of its last container, or else when
// it became unready, or else when it was created.
func finishedAt(content map[string]any) (at time.Time) {
	var pod corev1.Pod
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &pod) // What can be read is enough.
	latest := func(t metav1.Time) {
		if t.After(at) {
			at = t.Time
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if ended := pod.Status.ContainerStatuses[i].State.Terminated; ended != nil {
			latest(ended.FinishedAt)
		}
	}
	for _, c := range pod.Status.Conditions {
		if at.IsZero() && c.Type == corev1.PodReady {
			latest(c.LastTransitionTime)
		}
	}
	if at.IsZero() {
		latest(pod.CreationTimestamp)
	}
	return at
}

// mostFinished is how many finished replicas are kept for inspection.
const mostFinished = 5
