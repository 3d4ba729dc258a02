package deploy

import (
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/engine/inventory"
	"reconcel/rules"
)

// Options are the settings of an installation. All fields are required unless
// their comment says otherwise.
type Options struct {
	Name      string // name of all objects and of the engine (engine.Options.Name)
	Namespace string
	Image     string
	Replicas  int // one replica is the leader

	AllowedKinds  []string // optional: privileged kinds that rules may create
	IgnoredChecks []string // optional: named checks that are turned off
	Events        string   // optional: the flag --events of run; default: that of run

	// DryRun makes an installation that writes nothing beside the one of this name. Its own
	// objects have another name.
	DryRun bool

	// RulesObjects has the rules as Rules objects, which the process watches in its namespace. Otherwise they are in a
	// ConfigMap.
	RulesObjects bool

	// Namespaced are the watched namespaces; empty means all. If it is set, no
	// cluster-scoped objects are generated.
	Namespaced []string
}

// Validate returns an error if a name is invalid.
func (o Options) Validate() error {
	for _, namespace := range append([]string{o.Namespace}, o.Namespaced...) {
		if why := validation.IsDNS1123Label(namespace); len(why) > 0 {
			return fmt.Errorf("namespace %q: %s", namespace, strings.Join(why, ", "))
		}
	}
	if why := validation.IsDNS1035Label(o.metricsName()); len(why) > 0 {
		return fmt.Errorf("name %q: %s is not the name of a Service: %s", o.Name, o.metricsName(), strings.Join(why, ", "))
	}
	return nil
}

func (o Options) metricsName() string { return o.ObjectName() + "-metrics" }

// ObjectName is the name of the objects.
func (o Options) ObjectName() string {
	if o.DryRun {
		return o.Name + "-dry-run"
	}
	return o.Name
}

// Roles returns the role with the permissions, the role for the engine's own
// objects and those for its cleanup, all bound to the ServiceAccount. The roles of the rules'
// ServiceAccounts come last.
func (o Options) Roles(p *Permissions) []Manifest {
	granted, needed := o.withCleanup(p, o.own(p.bundles))
	if o.DryRun {
		p, needed = p.reading(), o.own(p.bundles).reading()
		granted = p
	}
	all := []Manifest{o.mainRole(values{"rules": roleRules(granted)}),
		fillTemplate("role.yaml", o.values(values{"rules": roleRules(needed)}))}
	if !o.DryRun {
		all = append(all, o.cleanupRoles()...)
	}
	return append(all, o.accountRoles(p)...)
}

// mainRole fills the role for what rules make: that of the whole cluster or, with Options.Namespaced, that of each
// namespace.
func (o Options) mainRole(v values) Manifest {
	if len(o.Namespaced) == 0 {
		return fillTemplate("clusterrole.yaml", o.values(v))
	}
	return o.inEach(o.Namespaced, "namespacedroles.yaml", v)
}

// inEach fills a manifest for each namespace.
func (o Options) inEach(namespaces []string, name string, v values) Manifest {
	all := Manifest{Name: name}
	for _, namespace := range namespaces {
		v["followed"] = namespace
		all.docs = append(all.docs, fillTemplate(name, o.values(v)).docs...)
	}
	return all
}

// own returns the permissions for the engine's own objects, in its namespace, with the
// ConfigMaps of rules for the cluster. RBAC cannot restrict create to one object name.
func (o Options) own(bundles []string) *Permissions {
	p := newPermissions()
	configMaps := Target{Resource: "configmaps"}
	const why = "ConfigMap: the inventory of the objects of rules"
	p.need(configMaps, []string{"create"}, why)
	configMaps.Name = inventory.Name(o.Name)
	p.need(configMaps, []string{"get", "update"}, why)
	for _, name := range inventory.TextNames(o.Name) {
		configMaps.Name = name
		p.need(configMaps, []string{"get", "update"}, "ConfigMap: the text of the rules")
	}
	needBundles(p, o.Name, bundles)
	if o.RulesObjects {
		o.needRulesObjects(p)
	}
	leases := Target{Group: "coordination.k8s.io", Resource: "leases"}
	const which = "Lease: which of the replicas leads"
	p.need(leases, []string{"create"}, which)
	leases.Name = o.Name
	p.need(leases, []string{"get", "update"}, which)
	if len(o.Namespaced) > 0 && !o.watchesHome() {
		p.need(eventsTarget, toTell, "Event: reports problems of the rules") // Otherwise the role for the rules has it.
	}
	return p
}

// Manifests returns all objects that run reconcel in a cluster: the roles, the
// rules and the workload.
func (o Options) Manifests(p *Permissions, files []RulesFile) []Manifest {
	v := o.values(nil)
	all := append([]Manifest{fillTemplate("serviceaccount.yaml", v)}, o.Roles(p)...)
	if len(o.Namespaced) == 0 && !o.DryRun { // A dry run runs beside an installation, whose Namespace it is.
		all = append([]Manifest{fillTemplate("namespace.yaml", v)}, all...)
	}
	if o.hasRulesDefinition() {
		all = append([]Manifest{RulesDefinition()}, all...)
	}
	all = append(all, o.rules(files), o.deployment(v, files))
	if o.Replicas > 1 {
		all = append(all, fillTemplate("poddisruptionbudget.yaml", v)) // With a single replica, it would block every drain.
	}
	all = append(all, fillTemplate("service.yaml", v), fillTemplate("networkpolicy.yaml", v))
	if o.hasFlowSchema() {
		all = append(all, fillTemplate("flowschema.yaml", v))
	}
	return all
}

// hasFlowSchema reports whether there is a FlowSchema, which is cluster-scoped. A dry run
// renews no Lease.
func (o Options) hasFlowSchema() bool { return len(o.Namespaced) == 0 && !o.DryRun }

// hasRulesDefinition reports whether the CRD of Rules, which is cluster-scoped, is among the manifests.
func (o Options) hasRulesDefinition() bool { return o.RulesObjects && len(o.Namespaced) == 0 }

// Missing names the cluster-scoped objects that Manifests omits with
// Options.Namespaced, or returns "".
func (o Options) Missing() string {
	if len(o.Namespaced) == 0 {
		return ""
	}
	missing := "Namespace " + o.Namespace + ", which must exist"
	if o.RulesObjects {
		missing += ", CustomResourceDefinition " + rules.RulesResource.GroupResource().String() + ", which must exist"
	}
	if !o.DryRun {
		missing += ", and FlowSchema " + o.Name + "-lease, which is optional"
	}
	return missing
}

// values returns the values for all manifests, with the additional ones in more.
func (o Options) values(more values) values {
	v := values{
		"name": o.ObjectName(), "namespace": o.Namespace, "image": o.Image, "replicas": o.Replicas, "args": o.arguments(),
		"labels": commonLabels(o.ObjectName()), "resources": resources(),
	}
	maps.Copy(v, more)
	return v
}

// commonLabels select the objects of one installation.
func commonLabels(instance string) *yaml.Node {
	return mapNode(textNode("app.kubernetes.io/name"), textNode("reconcel"), textNode("app.kubernetes.io/instance"),
		textNode(instance))
}

// resources are the requests and limits of the container.
func resources() *yaml.Node { return fillTemplate("resources.yaml", nil).docs[0].Content[0] }

// arguments returns the arguments of the process. They omit the namespace, which
// the process takes from its Pod.
func (o Options) arguments() *yaml.Node {
	from := "--rules=/etc/reconcel/rules"
	if o.RulesObjects {
		from = "--rules-objects"
	}
	args := []string{"run", from, "--name=" + o.Name, "--listen=:8080",
		"--debug-listen=127.0.0.1:6060", "--log-format=json"}
	for _, kind := range o.AllowedKinds {
		args = append(args, "--allow-kind="+kind)
	}
	for _, check := range o.IgnoredChecks {
		args = append(args, "--ignore-check="+check)
	}
	if o.Events != "" {
		args = append(args, "--events="+o.Events)
	}
	if o.DryRun {
		args = append(args, "--dry-run")
	}
	if len(o.Namespaced) > 0 {
		args = append(args, "--namespaced="+strings.Join(o.Namespaced, ","))
	}
	return blockList(args)
}

// roleRules returns the rules of a role, each with a comment that gives its reasons.
func roleRules(p *Permissions) *yaml.Node {
	all := &yaml.Node{Kind: yaml.SequenceNode}
	for _, g := range p.grants() {
		e := mapNode(textNode("apiGroups"), flowList([]string{g.Group}), textNode("resources"), flowList(g.paths))
		if len(g.names) > 0 {
			e.Content = append(e.Content, textNode("resourceNames"), flowList(g.names))
		}
		e.Content = append(e.Content, textNode("verbs"), flowList(g.Verbs))
		e.HeadComment = "# " + strings.Join(g.Why, "\n# ")
		all.Content = append(all.Content, e)
	}
	return all
}
