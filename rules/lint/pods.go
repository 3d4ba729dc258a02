package lint

import (
	"slices"
	"strconv"
)

// podNames checks the names within the Pod of a child.
func (c *child) podNames() {
	p := c.pod()
	if p == nil {
		return
	}
	p.mounts()
	for _, container := range p.containers() {
		p.probes(container)
	}
}

// mounts finds mounts of volumes that the Pod does not have.
func (p *pod) mounts() {
	volumes, known := p.volumes()
	if !known {
		return
	}
	for _, container := range p.containers() {
		for _, list := range []string{"volumeMounts", "volumeDevices"} {
			for _, mount := range container.at(list).items() {
				name := mount.at("name")
				text, literal := name.text()
				if !literal || slices.Contains(volumes, text) {
					continue
				}
				p.child.find(VolumeMount, posOf(name), "%s: the Pod has no volume %q, so the API server rejects it", name.where,
					text).Hint =
					p.child.in.Suggest(text, slices.Values(volumes))
			}
		}
	}
}

// volumes returns the names of the volumes, and whether all are known.
func (p *pod) volumes() (names []string, known bool) {
	volumes := p.spec.at("volumes")
	claims := p.child.template.at("spec", "volumeClaimTemplates")
	if p.open || !volumes.complete() || !claims.complete() {
		return nil, false
	}
	for _, v := range volumes.items() {
		names = append(names, v.at("name").key())
	}
	for _, v := range claims.items() {
		names = append(names, v.at("metadata", "name").key())
	}
	return names, !slices.ContainsFunc(names, hasExpression)
}

// probed are the fields of a container that name one of its ports.
var probed = [][]string{
	{"livenessProbe", "httpGet", "port"}, {"livenessProbe", "tcpSocket", "port"},
	{"readinessProbe", "httpGet", "port"}, {"readinessProbe", "tcpSocket", "port"},
	{"startupProbe", "httpGet", "port"}, {"startupProbe", "tcpSocket", "port"},
	{"lifecycle", "postStart", "httpGet", "port"}, {"lifecycle", "preStop", "httpGet", "port"},
}

// probes finds probes of ports that the container does not have.
func (p *pod) probes(container value) {
	names, known := portNames(container)
	if !known || p.open {
		return
	}
	for _, keys := range probed {
		port := container.at(keys...)
		if text, literal := portName(port); literal && !slices.Contains(names, text) {
			p.child.find(ProbePort, posOf(port), "%s: the container has no port %q, so the probe always fails", port.where,
				text).Hint =
				p.child.in.Suggest(text, slices.Values(names))
		}
	}
}

// portName returns the literal name of a port, and false for a number.
func portName(port value) (string, bool) {
	text, literal := port.text()
	if _, err := strconv.Atoi(text); err == nil {
		return "", false
	}
	return text, literal
}

// targetPorts finds ports of a Service that no Pod has.
func (c *child) targetPorts() {
	if c.gk != core("Service") || c.template.at("spec", "selector").absent() {
		return
	}
	pods, known := c.in.pods()
	if !known || len(pods) == 0 {
		return
	}
	var names []string
	for _, p := range pods {
		own, known := p.ports()
		if !known || p.open {
			return
		}
		names = append(names, own...)
	}
	for _, port := range c.template.at("spec", "ports").items() {
		target := port.at("targetPort")
		if text, literal := portName(target); literal && !slices.Contains(names, text) {
			c.find(TargetPort, posOf(target), "%s: no container of the rules for %s has a port %q", target.where,
				c.in.src.For.Kind.Value, text).Hint =
				c.in.Suggest(text, slices.Values(names))
		}
	}
}
