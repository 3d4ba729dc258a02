package kstatus

import (
	"fmt"
	"slices"
)

func podReady(o status) (Readiness, string) {
	switch o.status["phase"] {
	case "Succeeded":
		return Ready, ""
	case "Failed":
		return Stalled, "it failed"
	case "Running":
		if c := o.condition("Ready"); c.state != "True" {
			if o.crashLoops() {
				return Stalled, "a container keeps crashing"
			}
			return Progressing, c.message()
		}
		return Ready, ""
	}
	if c := o.condition("PodScheduled"); c.state == "False" {
		return Progressing, c.message()
	}
	if why := o.whyUnstarted(); why != "" {
		return Progressing, why
	}
	return Progressing, "not running yet"
}

// A waiting container has not started, or not again.
type waiting struct {
	name, image, reason, message any
}

// waitingContainers returns the containers of a Pod that wait, by fields of its status.
func (o status) waitingContainers(fields ...string) (all []waiting) {
	for _, list := range fields {
		containers, _ := o.status[list].([]any)
		for _, c := range containers {
			container, _ := c.(map[string]any)
			state, _ := container["state"].(map[string]any)
			if w, _ := state["waiting"].(map[string]any); w != nil {
				all = append(all, waiting{container["name"], container["image"], w["reason"], w["message"]})
			}
		}
	}
	return all
}

// whyUnstarted returns which container cannot start, and why. The two reasons of an
// image that cannot be pulled alternate, so both give one message.
func (o status) whyUnstarted() string {
	for _, w := range o.waitingContainers("initContainerStatuses", "containerStatuses") {
		switch w.reason {
		case nil, "", "ContainerCreating", "PodInitializing":
		case "ErrImagePull", "ImagePullBackOff":
			return fmt.Sprintf("container %q: image %v cannot be pulled; correct its name or the pull secret", w.name, w.image)
		default:
			return fmt.Sprintf("container %q: %s: %v", w.name, w.reason, w.message)
		}
	}
	return ""
}

func (o status) crashLoops() bool {
	return slices.ContainsFunc(o.waitingContainers("containerStatuses"),
		func(w waiting) bool { return w.reason == "CrashLoopBackOff" })
}
