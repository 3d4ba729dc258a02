package columns

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	podReady = podCell("The containers that are ready, and all.", func(_ *row, s *podState) any {
		return fmt.Sprintf("%d/%d", s.ready, s.containers)
	})
	podStatus = podCell("The state of the containers.", func(_ *row, s *podState) any {
		switch {
		case s.DeletionTimestamp == nil:
			return s.reason
		case s.Status.Reason == "NodeLost":
			return "Unknown"
		case s.Status.Phase != corev1.PodFailed && s.Status.Phase != corev1.PodSucceeded:
			return "Terminating"
		}
		return s.reason
	})
	podRestarts = podCell("How often containers were restarted, and when the last one.", func(r *row, s *podState) any {
		if s.restarts.count == 0 || s.restarts.last.IsZero() {
			return strconv.Itoa(s.restarts.count)
		}
		return fmt.Sprintf("%d (%s ago)", s.restarts.count, r.since(s.restarts.last))
	})
	readinessGates = made("spec.readinessGates", none, func(r *row, _ any) any {
		gates, met := r.texts("spec.readinessGates.conditionType"), 0
		for _, gate := range gates {
			if r.condition(gate) == "True" {
				met++
			}
		}
		return fmt.Sprintf("%d/%d", met, len(gates))
	})
)

func podCell(meaning string, of func(*row, *podState) any) cell {
	return cell{meaning, func(r *row) any {
		if r.pod == nil {
			pod := part[corev1.Pod](r.Object)
			if pod == nil {
				return nil
			}
			r.pod = stateOf(pod)
		}
		return of(r, r.pod)
	}}
}

// completion returns the condition of the row of a Pod that has ended.
func completion(r *row) []metav1.TableRowCondition {
	if r.GetKind() != "Pod" || r.GetAPIVersion() != "v1" {
		return nil
	}
	message := map[string]string{"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
	phase := r.text("status.phase")
	if message[phase] == "" {
		return nil
	}
	return []metav1.TableRowCondition{{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: phase, Message: message[phase],
	}}
}

// podState summarizes the containers of a Pod.
type podState struct {
	*corev1.Pod
	ready, containers int
	reason            string
	restarts          restarts
}

type restarts struct {
	count int
	last  time.Time
}

func (r *restarts) add(c corev1.ContainerStatus) {
	r.count += int(c.RestartCount)
	if ended := c.LastTerminationState.Terminated; ended != nil && ended.FinishedAt.After(r.last) {
		r.last = ended.FinishedAt.Time
	}
}

func stateOf(pod *corev1.Pod) *podState {
	s := &podState{
		Pod:        pod,
		containers: len(pod.Spec.Containers),
		reason:     cmp.Or(pod.Status.Reason, string(pod.Status.Phase)),
	}
	if s.condition(corev1.PodScheduled).Reason == corev1.PodReasonSchedulingGated {
		s.reason = corev1.PodReasonSchedulingGated
	}
	sidecars := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
			s.containers++
		}
	}
	var ofSidecars restarts
	initialized := true
	for i, c := range pod.Status.InitContainerStatuses {
		s.restarts.add(c)
		if sidecars[c.Name] {
			ofSidecars.add(c)
		}
		reason := initReason(c, fmt.Sprintf("%d/%d", i, len(pod.Spec.InitContainers)))
		if sidecars[c.Name] && c.Started != nil && *c.Started && !succeeded(c) {
			reason = ""
			if c.Ready {
				s.ready++
			}
		}
		if reason != "" {
			s.reason, initialized = "Init:"+reason, false
			break
		}
	}
	if initialized || s.condition(corev1.PodInitialized).Status == corev1.ConditionTrue {
		s.restarts = ofSidecars
		s.addContainers()
	}
	return s
}

// addContainers adds those that are not init containers. The first one that does not run gives the reason.
func (s *podState) addContainers() {
	running, failure := false, ""
	for i := len(s.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := s.Status.ContainerStatuses[i]
		s.restarts.add(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = endReason(c.State.Terminated)
			if c.State.Terminated.ExitCode != 0 {
				failure = s.reason
			}
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason != "Completed" {
		return
	}
	switch {
	case running && s.condition(corev1.PodReady).Status == corev1.ConditionTrue:
		s.reason = "Running"
	case failure != "":
		s.reason = failure
	case running:
		s.reason = "NotReady"
	}
}

// initReason returns why an init container keeps the Pod from starting, or "" if it does not.
func initReason(c corev1.ContainerStatus, progress string) string {
	switch {
	case succeeded(c):
		return ""
	case c.State.Terminated != nil:
		return endReason(c.State.Terminated)
	case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
		return c.State.Waiting.Reason
	}
	return progress
}

func succeeded(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
}

func endReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func (s *podState) condition(kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range s.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
