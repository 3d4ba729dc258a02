package lint

import (
	"slices"
	"strconv"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// podTemplates are the fields in which kinds have the template of their Pods.
var podTemplates = map[runtimeschema.GroupKind][]string{
	core("Pod"):                   {},
	core("PodTemplate"):           {"template"},
	core("ReplicationController"): {"spec", "template"},
	kindIn("apps", "Deployment"):  {"spec", "template"},
	kindIn("apps", "ReplicaSet"):  {"spec", "template"},
	kindIn("apps", "StatefulSet"): {"spec", "template"},
	kindIn("apps", "DaemonSet"):   {"spec", "template"},
	kindIn("batch", "Job"):        {"spec", "template"},
	kindIn("batch", "CronJob"):    {"spec", "jobTemplate", "spec", "template"},
}

// A pod is a Pod, or the template of one.
type pod struct {
	child    *child
	template value
	spec     value
	// open: others may write fields of it.
	open bool
}

// pod returns the Pod of a child, or nil.
func (c *child) pod() *pod {
	keys, has := podTemplates[c.gk]
	if !has {
		return nil
	}
	t := c.template.at(keys...)
	return &pod{child: c, template: t, spec: t.at("spec"), open: c.ignores(slices.Concat(keys, []string{"spec"})...)}
}

// containers returns the containers of a Pod. Those that are an expression are left out.
func (p *pod) containers() []value {
	out := []value{}
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range p.spec.at(list).items() {
			if c.isMap() {
				out = append(out, c)
			}
		}
	}
	return out
}

// ports returns the names of the ports of all containers, and whether all are known.
func (p *pod) ports() (names []string, known bool) {
	for _, list := range []string{"initContainers", "containers"} {
		containers := p.spec.at(list)
		if !containers.complete() {
			return nil, false
		}
		for _, c := range containers.items() {
			own, known := portNames(c)
			if !known {
				return nil, false
			}
			names = append(names, own...)
		}
	}
	return names, true
}

// portNames returns the names of the ports of a container, and whether all are known.
func portNames(container value) (names []string, known bool) {
	ports := container.at("ports")
	if !ports.complete() {
		return nil, false
	}
	for _, port := range ports.items() {
		name := port.at("name")
		switch text, literal := name.text(); {
		case literal:
			names = append(names, text)
		case !name.absent():
			return nil, false
		}
	}
	return names, true
}

// maxPods is the maximum number of Pods that selectors are compared with.
const maxPods = 100

// findPods returns the Pods of the rules for the same kind, and whether all are known: a
// custom resource, or a primary that is a workload, may have Pods that no rule shows.
func (r *rule) findPods() (all []*pod, known bool) {
	primary := r.src.For
	if primary.Cluster {
		return nil, false // It mostly serves the Pods of others.
	}
	own := runtimeschema.FromAPIVersionAndKind(primary.APIVersion.Value, primary.Kind.Value)
	if versions := r.versionsOf(own.GroupKind()); r.src.Lost != nil || r.src.Nameless ||
		len(versions) > 0 && !versions[0].Custom {
		return nil, false
	}
	for _, other := range r.rules {
		if other.src.For.APIVersion.Value != primary.APIVersion.Value || other.src.For.Kind.Value != primary.Kind.Value {
			continue
		}
		for _, c := range other.children {
			if !c.known() {
				return nil, false
			}
			if p := c.pod(); p != nil {
				all = append(all, p)
			}
		}
	}
	return all, len(all) <= maxPods
}

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
