package lint

import (
	"strings"

	"reconcel/rules/source"
)

// scaledTarget returns the workload that an autoscaler scales.
func (c *child) scaledTarget() (reference, bool) {
	target := c.template.at("spec", "scaleTargetRef")
	switch gk, literal := c.scaleTarget(); {
	case c.gk == kindIn("autoscaling", "HorizontalPodAutoscaler"):
		return reference{gk, target.at("name")}, literal
	case c.gk != kindIn("keda.sh", "ScaledObject"):
		return reference{}, false
	case target.at("kind").absent():
		return reference{kindIn("apps", "Deployment"), target.at("name")}, true
	default:
		return reference{gk, target.at("name")}, literal
	}
}

// scalesRendered finds replicas that the rule renders and an autoscaler of the rule changes.
func (c *child) scalesRendered() {
	target, known := c.scaledTarget()
	if !known {
		return
	}
	for _, other := range c.siblings(target) {
		replicas := other.template.at("spec", "replicas")
		if replicas.absent() || leavesOut(replicas) || other.ignores("spec", "replicas") || c.excludes(other) {
			continue
		}
		other.find(ScaledReplicas, posOf(replicas), "%s: the %s of child %q scales it, and the rule undoes that",
			replicas.where, c.gk.Kind, c.ID.Value).Hint =
			"add ignoreFields: [spec.replicas] to the child"
	}
}

// leavesOut reports whether an expression may leave out its field.
func leavesOut(v value) bool {
	if v.node == nil || v.node.Kind != source.Interp {
		return v.unknown
	}
	text := v.node.Parts[0].Expr.Text
	return strings.Contains(text, "when(") || strings.Contains(text, "optional.") || strings.Contains(text, "null") ||
		strings.Contains(text, "?") && !strings.Contains(text, "orValue")
}

// excludes reports whether two children may exclude each other by their when.
func (c *child) excludes(other *child) bool {
	return c.When != nil && other.When != nil && c.When.Text != other.When.Text
}
