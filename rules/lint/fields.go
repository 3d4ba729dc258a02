package lint

import "reconcel/rules/source"

// ports are the fields that hold the number of a port.
func ports(c *child) []value {
	var out []value
	if c.gk == core("Service") {
		for _, p := range c.template.at("spec", "ports").items() {
			out = append(out, p.at("port"), p.at("targetPort"))
		}
	}
	if p := c.pod(); p != nil {
		for _, container := range p.containers() {
			for _, p := range container.at("ports").items() {
				out = append(out, p.at("containerPort"))
			}
			for _, keys := range probed {
				out = append(out, container.at(keys...))
			}
		}
	}
	for _, b := range c.backends() {
		out = append(out, b.at("service", "port", "number"))
	}
	return out
}

// counted are fields of a workload's spec, and of a probe, that cannot be negative.
var (
	counted = []string{"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds", "parallelism",
		"completions",
		"backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "startingDeadlineSeconds",
		"successfulJobsHistoryLimit", "failedJobsHistoryLimit"}
	probeCounts = []string{"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
		"failureThreshold"}
)

func counts(c *child) []value {
	p := c.pod()
	if p == nil {
		return nil
	}
	out := []value{}
	for _, key := range counted {
		out = append(out, c.template.at("spec", key), c.template.at("spec", "jobTemplate", "spec", key))
	}
	for _, container := range p.containers() {
		for _, probe := range probeNames {
			for _, key := range probeCounts {
				out = append(out, container.at(probe, key))
			}
		}
	}
	return out
}

// shares are the fields that hold a number or a percentage of Pods.
func shares(c *child) []value {
	spec := c.template.at("spec")
	switch c.gk {
	case kindIn("policy", "PodDisruptionBudget"):
		return []value{spec.at("minAvailable"), spec.at("maxUnavailable")}
	case kindIn("apps", "Deployment"):
		return []value{spec.at("strategy", "rollingUpdate", "maxSurge"),
			spec.at("strategy", "rollingUpdate", "maxUnavailable")}
	case kindIn("apps", "DaemonSet"), kindIn("apps", "StatefulSet"):
		return []value{spec.at("updateStrategy", "rollingUpdate", "maxSurge"),
			spec.at("updateStrategy", "rollingUpdate", "maxUnavailable")}
	}
	return nil
}

// ingress returns the hosts or paths of an Ingress.
func (c *child) ingress(key string) []value {
	if c.gk != kindIn("networking.k8s.io", "Ingress") {
		return nil
	}
	var out []value
	for _, r := range c.template.at("spec", "rules").items() {
		if key == "host" {
			out = append(out, r.at(key))
			continue
		}
		for _, path := range r.at("http", "paths").items() {
			out = append(out, path.at(key))
		}
	}
	return out
}

// values returns the values of a map.
func values(m value) []value {
	var out []value
	for _, e := range m.entries() {
		out = append(out, e.value)
	}
	return out
}

// keysIn returns the keys of a map as values.
func keysIn(m value) []value {
	var out []value
	for _, e := range m.entries() {
		out = append(out, value{r: m.r, node: &source.Node{Kind: source.Text, Value: e.key.Value}, pos: e.key.Pos,
			where: m.where})
	}
	return out
}

// fieldOfEach returns a field of all elements of a list.
func fieldOfEach(list value, key string) []value {
	var out []value
	for _, item := range list.items() {
		out = append(out, item.at(key))
	}
	return out
}

// selector returns the labels that a child of a kind of Kubernetes selects.
func (c *child) selector() value {
	if !c.known() {
		return value{r: c.in, unknown: true}
	}
	return c.template.at("spec", "selector", "matchLabels")
}
