package lint

import (
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// workloads are the kinds whose selector must match the labels of their own Pods:
// https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#selector.
var workloads = []runtimeschema.GroupKind{
	kindIn("apps", "Deployment"), kindIn("apps", "ReplicaSet"), kindIn("apps", "StatefulSet"), kindIn("apps", "DaemonSet"),
}

// selectorLabels finds a workload that does not select its own Pods.
func (c *child) selectorLabels() {
	if !slices.Contains(workloads, c.gk) {
		return
	}
	selector := c.template.at("spec", "selector", "matchLabels")
	labels := c.template.at("spec", "template", "metadata", "labels")
	for _, f := range selector.entries() {
		label, differs := mismatch(f, labels)
		if !differs {
			continue
		}
		pos := f.key.Pos
		if selector.use.Line > 0 { // The selector is a let, so the labels are more likely to be wrong.
			pos = posOf(label)
		}
		e := c.find(SelectorLabels, pos, "%s: no Pod has this label, so the API server rejects the %s", f.value.where,
			c.gk.Kind)
		if e.Hint = "add it to " + labels.where; !label.absent() {
			e.Hint = label.where + " is " + label.key()
		}
		return // One complaint about a selector is enough.
	}
}

// mismatch returns the label that a selector requires, and whether it is surely absent
// or another one.
func mismatch(required entry, labels value) (value, bool) {
	if labels.absent() {
		return labels, true
	}
	label := labels.at(required.key.Value)
	if label.absent() {
		return label, true
	}
	return label, differ(label, required.value)
}

// differ reports whether two values are surely different.
func differ(a, b value) bool {
	x, literal := a.text()
	y, too := b.text()
	return literal && too && x != y
}

// podSelectors are the fields in which kinds select Pods of their namespace by labels.
var podSelectors = map[runtimeschema.GroupKind][]string{
	core("Service"):                              {"spec", "selector"},
	kindIn("policy", "PodDisruptionBudget"):      {"spec", "selector", "matchLabels"},
	kindIn("networking.k8s.io", "NetworkPolicy"): {"spec", "podSelector", "matchLabels"},
}

// selectsPods finds a selector that matches no Pod of the rule, while the rule has Pods.
func (c *child) selectsPods() {
	keys, selects := podSelectors[c.gk]
	if !selects {
		return
	}
	pods, known := c.in.pods()
	serves := func(p *pod) bool { return p.child.gk.Group != "batch" }
	if !known || !slices.ContainsFunc(pods, serves) {
		return
	}
	selector := c.template.at(keys...)
	var missing *entry
	for _, p := range pods {
		labels := p.template.at("metadata", "labels")
		i := slices.IndexFunc(selector.entries(), func(f entry) bool {
			label, differs := mismatch(f, labels)
			if differs && label.absent() && p.child.gk == core("Pod") {
				_, differs = mismatch(f, c.in.value(c.in.src.CommonMetadata.At("labels"), "commonMetadata.labels"))
			}
			return differs
		})
		if i < 0 {
			return
		}
		if missing == nil || p.child.ID.Value == c.ID.Value {
			missing = &selector.entries()[i]
		}
	}
	pos := missing.key.Pos
	if selector.use.Line > 0 {
		pos = selector.use
	}
	c.find(SelectorNoPod, pos, "%s: no Pod of the rules for %s has this label, so the %s selects none",
		missing.value.where, c.in.src.For.Kind.Value, c.gk.Kind)
}
