package deploy

import (
	"slices"
	"strings"
)

// namespaced returns the role that follows from permissions once for each
// namespace that is followed, bound to the ServiceAccount. It bears another name
// than the role for the engine's own objects, whose namespace may be one of them.
func (o Options) namespaced(p *Permissions) Manifest {
	all := Manifest{Name: "namespacedroles.yaml"}
	for _, namespace := range o.Namespaced {
		one := fill(all.Name, o.values(values{"followed": namespace, "rules": entries(p)}))
		all.docs = append(all.docs, one.docs...)
	}
	return all
}

// needEvents adds what is needed to tell of the engine's own objects, where no
// role for the rules has it.
func (o Options) needEvents(p *Permissions) {
	if len(o.Namespaced) > 0 && !slices.Contains(o.Namespaced, o.Namespace) {
		p.need(eventsResource, toTell, "Event: reports problems of the rules")
	}
}

// Missing names what Manifests leaves out since it belongs to the whole cluster
// and only some namespaces are followed, or returns "".
func (o Options) Missing() string {
	if len(o.Namespaced) == 0 {
		return ""
	}
	return "Namespace " + o.Namespace + ", which must exist, and FlowSchema " + o.Name + "-lease, which is optional"
}

// namespacedArgument tells the process which namespaces it is to follow.
func (o Options) namespacedArgument() []string {
	if len(o.Namespaced) == 0 {
		return nil
	}
	return []string{"--namespaced=" + strings.Join(o.Namespaced, ",")}
}
