package columns

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

var (
	jobStatus = cell{"The condition that counts.", func(r *row) any {
		switch {
		case r.condition("Complete") == "True":
			return "Complete"
		case r.condition("Failed") == "True":
			return "Failed"
		case r.GetDeletionTimestamp() != nil:
			return "Terminating"
		}
		for _, kind := range []string{"Suspended", "FailureTarget", "SuccessCriteriaMet"} {
			if r.condition(kind) == "True" {
				return kind
			}
		}
		return "Running"
	}}
	completions = cell{"The Pods that have succeeded, and those that must.", func(r *row) any {
		succeeded := r.number("status.succeeded")
		if r.value("spec.completions") != nil {
			return fmt.Sprintf("%d/%d", succeeded, r.number("spec.completions"))
		}
		if parallel := r.number("spec.parallelism"); parallel > 1 {
			return fmt.Sprintf("%d/1 of %d", succeeded, parallel)
		}
		return fmt.Sprintf("%d/1", succeeded)
	}}
	jobDuration = cell{"The time from its start to its completion, or to now.", func(r *row) any {
		start, end := r.time("status.startTime"), r.time("status.completionTime")
		switch {
		case start.IsZero():
			return ""
		case end.IsZero():
			return r.since(start)
		}
		return duration.HumanDuration(end.Sub(start))
	}}
	suspended = made("spec.suspend", unset, func(_ *row, v any) any {
		if v == true {
			return "True"
		}
		return "False"
	})
	controller = cell{"The owner that controls it.", func(r *row) any {
		owner := metav1.GetControllerOf(r)
		if owner == nil {
			return none
		}
		gk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		return strings.ToLower(gk.String()) + "/" + owner.Name
	}}
	claimState = cell{"Whether devices are allocated and reserved.", func(r *row) any {
		var states []string
		if r.GetDeletionTimestamp() != nil {
			states = append(states, "deleted")
		}
		switch {
		case r.value("status.allocation") != nil && r.value("status.reservedFor") != nil:
			states = append(states, "allocated", "reserved")
		case r.value("status.allocation") != nil:
			states = append(states, "allocated")
		case len(states) == 0:
			return "pending"
		}
		return strings.Join(states, ",")
	}}
)

var (
	nodeStatus = cell{"Whether it is ready, and takes Pods.", func(r *row) any {
		status := map[string]string{"": "Unknown", "True": "Ready"}[r.condition("Ready")]
		if status == "" {
			status = "NotReady"
		}
		if r.value("spec.unschedulable") == true {
			status += ",SchedulingDisabled"
		}
		return status
	}}
	nodeRoles = cell{"The roles in its labels.", func(r *row) any {
		var roles []string
		for key, value := range r.GetLabels() {
			if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
				roles = append(roles, role)
			} else if key == "kubernetes.io/role" && value != "" {
				roles = append(roles, value)
			}
		}
		return cmp.Or(strings.Join(distinct(roles), ","), none)
	}}
	nodeKernel = cell{"The version of its kernel, and its architecture.", func(r *row) any {
		version := cmp.Or(r.text("status.nodeInfo.kernelVersion"), unknown)
		if architecture := r.text("status.nodeInfo.architecture"); architecture != "" {
			version += " (" + architecture + ")"
		}
		return version
	}}
)

func nodeAddress(kind string) cell {
	return made("status.addresses", none, func(r *row, _ any) any {
		for _, address := range r.maps("status.addresses") {
			if address["type"] == kind {
				return fmt.Sprint(address["address"])
			}
		}
		return none
	})
}

func isLimit(resource string) bool   { return strings.HasPrefix(resource, "limits.") }
func isRequest(resource string) bool { return !isLimit(resource) }

// quota returns cells with some resources of a ResourceQuota: how much is used, and how much may be.
func quota(shown func(resource string) bool) cell {
	return cell{"What is used, and what may be.", func(r *row) any {
		hard, _ := r.value("status.hard").(map[string]any)
		used, _ := r.value("status.used").(map[string]any)
		var parts []string
		for _, resource := range slices.Sorted(maps.Keys(hard)) {
			if shown(resource) {
				parts = append(parts, fmt.Sprintf("%s: %s/%s", resource, canonical(used[resource]), canonical(hard[resource])))
			}
		}
		return strings.Join(parts, ", ")
	}}
}

// metrics are those of a HorizontalPodAutoscaler. Version 1 has only the use of CPU, in fields of its own.
var metrics = cell{"The current values of metrics, and their targets.", func(r *row) any {
	var shown []string
	statuses := r.maps("status.currentMetrics")
	for i, spec := range r.maps("spec.metrics") {
		var status map[string]any
		if i < len(statuses) {
			status = statuses[i]
		}
		shown = append(shown, metric(spec, status))
	}
	if target := r.value("spec.targetCPUUtilizationPercentage"); target != nil {
		current := percent(r.value("status.currentCPUUtilizationPercentage"), unknown)
		shown = append(shown, "cpu: "+current+"/"+percent(target, ""))
	}
	return cmp.Or(firstOf(2, shown, ", "), none)
}}

// metric returns the current value of one metric and its target.
func metric(spec, status map[string]any) string {
	source := map[any]string{"ContainerResource": "containerResource", "External": "external", "Object": "object",
		"Pods": "pods", "Resource": "resource"}[spec["type"]]
	target := func(name string) any { return firstAt(spec, source, "target", name) }
	current := func(name string) any { return firstAt(status, source, "current", name) }
	resource := firstAt(spec, source, "name")
	switch {
	case source == "":
		return "<unknown type>"
	case resource != nil && target("averageValue") != nil:
		return fmt.Sprintf("%s: %s", resource, amounts(current("averageValue"), target("averageValue")))
	case resource != nil:
		return fmt.Sprintf("%s: %s/%s", resource, percent(current("averageUtilization"), unknown),
			percent(target("averageUtilization"), "<auto>"))
	case source == "pods":
		return amounts(current("averageValue"), target("averageValue"))
	case target("averageValue") != nil:
		return amounts(current("averageValue"), target("averageValue")) + " (avg)"
	}
	return amounts(current("value"), target("value"))
}

func amounts(current, target any) string {
	if current == nil {
		return unknown + "/" + canonical(target)
	}
	return canonical(current) + "/" + canonical(target)
}

func percent(n any, other string) string {
	if n == nil {
		return other
	}
	return fmt.Sprintf("%v%%", n)
}
