package deploy

import (
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/engine/inventory"
)

// Options are the settings of an installation. All fields are required unless
// their comment says otherwise.
type Options struct {
	Name      string // name of all objects and of the engine (engine.Options.Name)
	Namespace string
	Image     string
	Replicas  int // one replica is the leader

	AllowedKinds []string // optional: privileged kinds that rules may create

	// Namespaced are the watched namespaces; empty means all. If it is set, no
	// cluster-scoped objects are generated.
	Namespaced []string
}

// Validate returns an error if a name is invalid.
func (o Options) Validate() error {
	if why := validation.IsDNS1123Label(o.Namespace); len(why) > 0 {
		return fmt.Errorf("namespace %q: %s", o.Namespace, strings.Join(why, ", "))
	}
	for _, namespace := range o.Namespaced {
		if why := validation.IsDNS1123Label(namespace); len(why) > 0 {
			return fmt.Errorf("namespace %q: %s", namespace, strings.Join(why, ", "))
		}
	}
	if why := validation.IsDNS1035Label(o.metricsName()); len(why) > 0 {
		return fmt.Errorf("name %q: %s is not the name of a Service: %s", o.Name, o.metricsName(), strings.Join(why, ", "))
	}
	return nil
}

func (o Options) metricsName() string { return o.Name + "-metrics" }

// Roles returns the role with the permissions and the role for the engine's own
// objects, both bound to the ServiceAccount. The roles of the rules'
// ServiceAccounts come last.
func (o Options) Roles(p *Permissions) []Manifest {
	own := fill("role.yaml", o.values(values{"rules": entries(o.own())}))
	rules := fill("clusterrole.yaml", o.values(values{"rules": entries(p)}))
	if len(o.Namespaced) > 0 {
		rules = o.namespaced(p)
	}
	return append([]Manifest{rules, own}, o.accountRoles(p)...)
}

// own returns the permissions for the engine's own objects, in its namespace. RBAC
// cannot restrict create to one object name.
func (o Options) own() *Permissions {
	p := newPermissions()
	configMaps := resource{path: "configmaps"}
	const why = "ConfigMap: the inventory of the objects of rules"
	p.need(configMaps, []string{"create"}, why)
	configMaps.name = inventory.Name(o.Name)
	p.need(configMaps, []string{"get", "update"}, why)
	leases := resource{group: "coordination.k8s.io", path: "leases"}
	const which = "Lease: which of the replicas leads"
	p.need(leases, []string{"create"}, which)
	leases.name = o.Name
	p.need(leases, []string{"get", "update"}, which)
	o.needEvents(p)
	return p
}

// Manifests returns all objects that run reconcel in a cluster: the roles, the
// rules and the workload.
func (o Options) Manifests(p *Permissions, rules []RulesFile) []Manifest {
	v := o.values(nil)
	all := append([]Manifest{fill("serviceaccount.yaml", v)}, o.Roles(p)...)
	whole := len(o.Namespaced) == 0 // Cluster-scoped objects are allowed.
	if whole {
		all = append([]Manifest{fill("namespace.yaml", v)}, all...)
	}
	all = append(all, fill(rulesManifest, o.values(values{"data": data(rules)})), fill("deployment.yaml", v))
	if o.Replicas > 1 {
		all = append(all, fill("poddisruptionbudget.yaml", v)) // With a single replica, it would block every drain.
	}
	all = append(all, fill("service.yaml", v), fill("networkpolicy.yaml", v))
	if whole {
		all = append(all, fill("flowschema.yaml", v))
	}
	return all
}

// values returns the values for all manifests, with the additional ones in more.
func (o Options) values(more values) values {
	v := values{
		"name": o.Name, "namespace": o.Namespace, "image": o.Image, "replicas": o.Replicas, "args": o.arguments(),
		"labels": mapping(text("app.kubernetes.io/name"), text("reconcel"), text("app.kubernetes.io/instance"), text(o.Name)),
	}
	maps.Copy(v, more)
	return v
}

// arguments returns the arguments of the process. They omit the namespace, which
// the process takes from its Pod.
func (o Options) arguments() *yaml.Node {
	args := []string{"run", "--rules=/etc/reconcel/rules", "--name=" + o.Name, "--listen=:8080", "--debug-listen=127.0.0.1:6060", "--log-format=json"}
	for _, kind := range o.AllowedKinds {
		args = append(args, "--allow-kind="+kind)
	}
	n := list(append(args, o.namespacedArgument()...))
	n.Style = 0
	return n
}

// entries returns the rules of a role, each with a comment that gives its reasons.
func entries(p *Permissions) *yaml.Node {
	all := &yaml.Node{Kind: yaml.SequenceNode}
	for _, g := range p.grants() {
		e := mapping(
			text("apiGroups"), list([]string{g.group}),
			text("resources"), list(g.resources),
		)
		if len(g.names) > 0 {
			e.Content = append(e.Content, text("resourceNames"), list(g.names))
		}
		e.Content = append(e.Content, text("verbs"), list(g.verbs))
		e.HeadComment = "# " + strings.Join(g.why, "\n# ")
		all.Content = append(all.Content, e)
	}
	return all
}
