package lint

import (
	"slices"
	"strings"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A child is an entry of children or finalize.
type child struct {
	*syntax.Child
	in        *rule
	gk        runtimeschema.GroupKind
	template  value
	finalizes bool // it is an entry of finalize
	// The keys of its name and namespace.
	name, namespace string
	// Computed once: the keys of a ConfigMap or Secret, and the ports of a Service.
	keys         func() (map[string]bool, bool)
	servicePorts func() (map[string]map[string]bool, bool)
}

func (r *rule) child(src *syntax.Child, finalizes bool) *child {
	gvk := runtimeschema.FromAPIVersionAndKind(src.Template.At("apiVersion").Literal().Value,
		src.Template.At("kind").Literal().Value)
	c := &child{Child: src, in: r, gk: gvk.GroupKind(), template: r.value(src.Template, "template"), finalizes: finalizes}
	c.keys, c.servicePorts = sync.OnceValues(c.findKeys), sync.OnceValues(c.findServicePorts)
	c.name, c.namespace = c.template.at("metadata", "name").key(), c.template.at("metadata", "namespace").key()
	return c
}

// find adds a finding about a child.
func (c *child) find(check string, pos source.Pos, format string, args ...any) *source.Error {
	return c.in.find(check, pos, "%s: "+format, append([]any{c.Entry}, args...)...)
}

// single reports whether a child is one object.
func (c *child) single() bool { return c.Replicas == nil && len(c.ForEach) == 0 }

// sameObjects reports whether names of two children with the same text have the same
// value: no iterator of one is in them, or both iterate over the same lists.
func (c *child) sameObjects(other *child) bool {
	if c == other || c.single() && other.single() {
		return true
	}
	if (c.Replicas != nil) != (other.Replicas != nil) {
		return false
	}
	return slices.EqualFunc(c.ForEach, other.ForEach, func(a, b *syntax.Iterator) bool {
		return a.Name.Value == b.Name.Value && a.In != nil && b.In != nil && a.In.Text == b.In.Text
	})
}

// ignores reports whether others may write a field of the child, or one below it.
func (c *child) ignores(keys ...string) bool {
	return slices.ContainsFunc(c.IgnoreFields, func(p *syntax.FieldPath) bool {
		n := min(len(p.Keys), len(keys))
		return slices.Equal(p.Keys[:n], keys[:n])
	})
}

// known reports whether Kubernetes itself has the kind of the child, so that the child
// cannot stand for objects that are not visible.
func (c *child) known() bool {
	versions := c.in.versionsOf(c.gk)
	return len(versions) > 0 && !versions[0].Custom
}

func core(kind string) runtimeschema.GroupKind { return runtimeschema.GroupKind{Kind: kind} }

func kindIn(group, kind string) runtimeschema.GroupKind {
	return runtimeschema.GroupKind{Group: group, Kind: kind}
}

// posOf returns the position where a template gives a value: its own, or that of the
// expression that names the let.
func posOf(v value) source.Pos {
	if v.use.Line > 0 {
		return v.use
	}
	return v.pos
}

// schemaOwns reports whether an API group belongs to Kubernetes, or cannot be that of a
// custom kind, because it has no dot.
func schemaOwns(group string) bool {
	return schema.BuiltInGroup(group) || !strings.Contains(group, ".")
}
