package lint

import (
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

// siblings returns the children that surely are the object of a reference.
func (c *child) siblings(ref reference) []*child {
	var out []*child
	key := ref.name.key()
	for _, other := range c.in.children {
		if key != "" && other.gk == ref.to && other.sameObjects(c) && other.name == key && c.sameNamespace(other) {
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
		if len(c.siblings(ref)) > 0 || c.in.looksUp(ref.to, key) {
			continue
		}
		for _, other := range c.in.children {
			name := other.name
			if other.gk == ref.to && c.sameNamespace(other) && isTypo(key, name) && !c.in.isNamed(ref.to, key) {
				c.find(SiblingName, posOf(ref.name), "%s: no child is the %s %q", ref.name.where, ref.to.Kind, key).Hint = "did you mean '" + name + "'?"
				break
			}
		}
	}
}

// isNamed reports whether any child of the kind has this name, whatever it iterates over.
func (r *rule) isNamed(gk runtimeschema.GroupKind, key string) bool {
	return slices.ContainsFunc(r.children, func(c *child) bool { return c.gk == gk && c.name == key })
}

// looksUp reports whether the rule looks up an object of this name.
func (r *rule) looksUp(gk runtimeschema.GroupKind, key string) bool {
	for _, l := range r.src.Lookups {
		if l.Kind.Value == gk.Kind && l.Name != nil && r.value(l.Name, "name").key() == key {
			return true
		}
	}
	return false
}

// isTypo reports whether a name is another one with one letter added, left out or
// swapped with the next. The expressions in it must be the same.
func isTypo(a, b string) bool {
	if a == b || len(a) < 4 {
		return false
	}
	i := strings.LastIndexByte(a, '}') + 1
	if !strings.HasPrefix(b, a[:i]) || strings.LastIndexByte(b, '}')+1 != i {
		return false
	}
	a, b = a[i:], b[i:]
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch len(a) - len(b) {
	case 1:
		return a[1:] == b
	case -1:
		return a == b[1:]
	case 0:
		return len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
	}
	return false
}

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
			c.hasKey(core("ConfigMap"), from.at("configMapKeyRef"), from.at("configMapKeyRef", "name"), from.at("configMapKeyRef", "key"))
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
		if !known || slices.Contains(keys, wanted) {
			continue
		}
		c.find(MissingKey, posOf(key), "%s: the %s of child %q has no key %q, so the container does not start", key.where, to.Kind, other.ID.Value, wanted).Hint =
			source.Suggest(wanted, keys)
	}
}

// keys returns the keys of a ConfigMap or Secret, and whether all are known.
func (c *child) keys() (keys []string, known bool) {
	for _, field := range keysOf[c.gk] {
		data := c.template.at(field)
		if c.ignores(field) || !data.absent() && !data.isMap() {
			return nil, false
		}
		for _, e := range data.entries() {
			keys = append(keys, e.key.Value)
		}
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
			ports := service.template.at("spec", "ports")
			if !ports.complete() || service.ignores("spec", "ports") {
				continue
			}
			c.backendPort(b.at("service", "port", "name"), ports, "name", service)
			c.backendPort(b.at("service", "port", "number"), ports, "port", service)
		}
	}
}

// backendPort warns if no port of a Service has this name or number.
func (c *child) backendPort(wanted, ports value, field string, service *child) {
	var have []string
	for _, port := range ports.items() {
		have = append(have, port.at(field).key())
	}
	if text, literal := wanted.text(); literal && !slices.Contains(have, text) && !slices.ContainsFunc(have, hasExpression) {
		c.find(BackendPort, posOf(wanted), "%s: the Service of child %q has no port %s", wanted.where, service.ID.Value, text).Hint =
			source.Suggest(text, have)
	}
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
