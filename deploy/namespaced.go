package deploy

import (
	"slices"
	"strings"
)

// namespaced returns a Role with the permissions and its binding to the
// ServiceAccount, for each watched namespace. The Role has another name than the
// Role for the engine's own objects, whose namespace may be watched too.
func (o Options) namespaced(p *Permissions) Manifest {
	all := Manifest{Name: "namespacedroles.yaml"}
	for _, namespace := range o.Namespaced {
		one := fill(all.Name, o.values(values{"followed": namespace, "rules": entries(p)}))
		all.docs = append(all.docs, one.docs...)
	}
	return all
}

// needEvents adds the permission for Events about the engine's own objects, unless
// a role for the rules already has it.
func (o Options) needEvents(p *Permissions) {
	if len(o.Namespaced) > 0 && !slices.Contains(o.Namespaced, o.Namespace) {
		p.need(eventsResource, toTell, "Event: reports problems of the rules")
	}
}

// Missing names the cluster-scoped objects that Manifests omits with
// Options.Namespaced, or returns "".
func (o Options) Missing() string {
	if len(o.Namespaced) == 0 {
		return ""
	}
	return "Namespace " + o.Namespace + ", which must exist, and FlowSchema " + o.Name + "-lease, which is optional"
}

// namespacedArgument returns the flag for the watched namespaces.
func (o Options) namespacedArgument() []string {
	if len(o.Namespaced) == 0 {
		return nil
	}
	return []string{"--namespaced=" + strings.Join(o.Namespaced, ",")}
}
