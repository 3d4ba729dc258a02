package lint

import (
	"maps"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/source"
)

// A reference is the name of another object in a template.
type reference struct {
	to   runtimeschema.GroupKind
	name value
}

// An objectName is the kind of an object and the key of its name.
type objectName struct {
	gk  runtimeschema.GroupKind
	key string
}

func (c *child) object() objectName { return objectName{c.gk, c.name} }

// maxAlike is the maximum number of children of one name that are compared. They exclude
// each other with when.
const maxAlike = 20

// siblings returns the children that surely are the object of a reference.
func (c *child) siblings(ref reference) []*child {
	var out []*child
	key := ref.name.key()
	if key == "" {
		return nil
	}
	alike := c.in.named[objectName{ref.to, key}]
	for _, other := range alike[:min(len(alike), maxAlike)] {
		if other.sameObjects(c) && c.sameNamespace(other) {
			out = append(out, other)
		}
	}
	return out
}

// sameNamespace reports whether two children are in the same namespace.
func (c *child) sameNamespace(other *child) bool {
	return c.namespace == other.namespace
}

// references returns the names of other objects in the template.
func (c *child) references() []reference {
	var out []reference
	add := func(to runtimeschema.GroupKind, name value) {
		if name.key() != "" {
			out = append(out, reference{to, name})
		}
	}
	if p := c.pod(); p != nil {
		add(core("ServiceAccount"), p.spec.at("serviceAccountName"))
		for _, v := range p.spec.at("volumes").items() {
			add(core("ConfigMap"), v.at("configMap", "name"))
			add(core("Secret"), v.at("secret", "secretName"))
			add(core("PersistentVolumeClaim"), v.at("persistentVolumeClaim", "claimName"))
			for _, s := range v.at("projected", "sources").items() {
				add(core("ConfigMap"), s.at("configMap", "name"))
				add(core("Secret"), s.at("secret", "name"))
			}
		}
		for _, container := range p.containers() {
			for _, e := range container.at("env").items() {
				add(core("ConfigMap"), e.at("valueFrom", "configMapKeyRef", "name"))
				add(core("Secret"), e.at("valueFrom", "secretKeyRef", "name"))
			}
			for _, e := range container.at("envFrom").items() {
				add(core("ConfigMap"), e.at("configMapRef", "name"))
				add(core("Secret"), e.at("secretRef", "name"))
			}
		}
	}
	for _, b := range c.backends() {
		add(core("Service"), b.at("service", "name"))
	}
	switch c.gk {
	case kindIn("apps", "StatefulSet"):
		add(core("Service"), c.template.at("spec", "serviceName"))
	case kindIn("autoscaling", "HorizontalPodAutoscaler"):
		target := c.template.at("spec", "scaleTargetRef")
		if gk, ok := c.scaleTarget(); ok {
			add(gk, target.at("name"))
		}
	}
	return out
}

// misspelt finds references that differ by a typing error from the name of a child.
func (c *child) misspelt() {
	for _, ref := range c.references() {
		key := ref.name.key()
		if len(c.in.named[objectName{ref.to, key}]) > 0 || c.in.lookups[objectName{core(ref.to.Kind), key}] ||
			!c.in.Compare(len(c.in.children)) {
			continue
		}
		for _, other := range c.in.children {
			if other.gk == ref.to && c.sameNamespace(other) && isTypo(key, other.name) {
				c.find(SiblingName, posOf(ref.name), "%s: no child is the %s %q", ref.name.where, ref.to.Kind,
					key).Hint = "did you mean '" + other.name + "'?"
				break
			}
		}
	}
}

// isTypo reports whether a name is another one with one letter added, left out or
// swapped with the next, or with another letter within a word of a long name. The
// expressions in it must be the same.
func isTypo(a, b string) bool {
	if a == b || len(a) < 4 {
		return false
	}
	i := strings.LastIndexByte(a, '}') + 1
	if !strings.HasPrefix(b, a[:i]) || strings.LastIndexByte(b, '}')+1 != i {
		return false
	}
	a, b = a[i:], b[i:]
	whole := a
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch len(a) - len(b) {
	case 1:
		return a[1:] == b
	case -1:
		return a == b[1:]
	case 0:
		swapped := len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
		at := len(whole) - len(a)
		within := len(whole) > 5 && at > 0 && len(a) > 1 && isLetter(whole[at-1]) && isLetter(a[0]) && isLetter(b[0]) &&
			isLetter(a[1])
		return swapped || within && a[1:] == b[1:]
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

func hasExpression(key string) bool { return strings.Contains(key, "${") }

// keysOf are the maps in which kinds have the keys that others refer to.
var keysOf = map[runtimeschema.GroupKind][]string{
	core("ConfigMap"): {"data", "binaryData"},
	core("Secret"):    {"data", "stringData"},
}

// keyReferences finds references to keys that the ConfigMap or Secret of the same rule
// does not have.
func (c *child) keyReferences() {
	p := c.pod()
	if p == nil {
		return
	}
	for _, container := range p.containers() {
		for _, e := range container.at("env").items() {
			from := e.at("valueFrom")
			c.hasKey(core("ConfigMap"), from.at("configMapKeyRef"), from.at("configMapKeyRef", "name"),
				from.at("configMapKeyRef", "key"))
			c.hasKey(core("Secret"), from.at("secretKeyRef"), from.at("secretKeyRef", "name"), from.at("secretKeyRef", "key"))
		}
	}
	for _, v := range p.spec.at("volumes").items() {
		for _, item := range v.at("configMap", "items").items() {
			c.hasKey(core("ConfigMap"), v.at("configMap"), v.at("configMap", "name"), item.at("key"))
		}
		for _, item := range v.at("secret", "items").items() {
			c.hasKey(core("Secret"), v.at("secret"), v.at("secret", "secretName"), item.at("key"))
		}
	}
}

// hasKey warns if the object of that name, a child of the same rule, lacks a key.
func (c *child) hasKey(to runtimeschema.GroupKind, ref, name, key value) {
	wanted, literal := key.text()
	if optional := ref.at("optional"); !literal || !optional.absent() {
		return
	}
	for _, other := range c.siblings(reference{to, name}) {
		keys, known := other.keys()
		if !known || keys[wanted] {
			continue
		}
		c.find(MissingKey, posOf(key), "%s: the %s of child %q has no key %q, so the container does not start", key.where,
			to.Kind, other.ID.Value, wanted).Hint =
			c.in.Suggest(wanted, maps.Keys(keys))
	}
}

// findKeys returns the keys of a ConfigMap or Secret, and whether all are known.
func (c *child) findKeys() (keys map[string]bool, known bool) {
	keys = map[string]bool{}
	for _, field := range keysOf[c.gk] {
		data := c.template.at(field)
		if c.ignores(field) || !data.absent() && !data.isMap() {
			return nil, false
		}
		for _, e := range data.entries() {
			keys[e.key.Value] = true
		}
	}
	for _, g := range c.Generate {
		keys[g.Key.Value] = true
	}
	return keys, true
}

// backends returns the backends of an Ingress.
func (c *child) backends() []value {
	if c.gk != kindIn("networking.k8s.io", "Ingress") {
		return nil
	}
	out := []value{c.template.at("spec", "defaultBackend")}
	for _, r := range c.template.at("spec", "rules").items() {
		for _, path := range r.at("http", "paths").items() {
			out = append(out, path.at("backend"))
		}
	}
	return out
}

// backendPorts finds backends of an Ingress whose Service, a child of the same rule, has
// no such port.
func (c *child) backendPorts() {
	for _, b := range c.backends() {
		for _, service := range c.siblings(reference{core("Service"), b.at("service", "name")}) {
			for _, field := range []string{"name", "number"} {
				wanted := b.at("service", "port", field)
				have, known := service.servicePorts()
				if text, literal := wanted.text(); literal && known && !have[field][text] {
					c.find(BackendPort, posOf(wanted), "%s: the Service of child %q has no port %s", wanted.where, service.ID.Value,
						text).Hint =
						c.in.Suggest(text, maps.Keys(have[field]))
				}
			}
		}
	}
}

// findServicePorts returns the names and numbers of the ports of a Service, by the field
// of a backend that refers to them, and whether all are known.
func (c *child) findServicePorts() (have map[string]map[string]bool, known bool) {
	ports := c.template.at("spec", "ports")
	if !ports.complete() || c.ignores("spec", "ports") {
		return nil, false
	}
	have = map[string]map[string]bool{"name": {}, "number": {}}
	for _, port := range ports.items() {
		name, number := port.at("name").key(), port.at("port").key()
		if hasExpression(name) || hasExpression(number) {
			return nil, false
		}
		have["name"][name], have["number"][number] = true, true
	}
	return have, true
}

// scaleTarget returns the kind that an autoscaler scales, if it is literal.
func (c *child) scaleTarget() (runtimeschema.GroupKind, bool) {
	target := c.template.at("spec", "scaleTargetRef")
	apiVersion, known := target.at("apiVersion").text()
	kind, too := target.at("kind").text()
	return runtimeschema.FromAPIVersionAndKind(apiVersion, kind).GroupKind(), known && too
}

// scales finds an autoscaler of a kind that does not exist or cannot be scaled.
func (c *child) scales() {
	if c.gk != kindIn("autoscaling", "HorizontalPodAutoscaler") {
		return
	}
	gk, known := c.scaleTarget()
	target := c.template.at("spec", "scaleTargetRef")
	apiVersion, _ := target.at("apiVersion").text()
	kind := runtimeschema.FromAPIVersionAndKind(apiVersion, gk.Kind)
	if !known || c.in.set.Kind(kind) != nil && c.in.set.Kind(kind).Scale || !schemaOwns(gk.Group) {
		return
	}
	var scalable []string
	for _, k := range c.in.set.Kinds() {
		if k.Scale && !k.Custom {
			scalable = append(scalable, k.GVK.GroupVersion().String()+" "+k.GVK.Kind)
		}
	}
	pos := posOf(target.at("kind"))
	if slices.ContainsFunc(scalable, func(s string) bool { return strings.HasSuffix(s, " "+gk.Kind) }) {
		pos = posOf(target.at("apiVersion"))
	}
	c.find(ScaleTarget, pos, "%s: %s has no kind %s that can be scaled", target.where, apiVersion, gk.Kind).Hint =
		source.Suggest(apiVersion+" "+gk.Kind, scalable)
}

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
