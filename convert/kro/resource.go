package kro

import (
	"github.com/google/cel-go/common/ast"
	"go.yaml.in/yaml/v3"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/convert/foreign"
	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

// A resource is an entry of spec.resources.
type resource struct {
	node               *source.Node
	path               string
	id                 string
	template, external *source.Node
}

func newResource(n *source.Node, path string) *resource {
	return &resource{node: n, path: path, id: n.At("id").Literal().Value, template: n.At("template"),
		external: n.At("externalRef")}
}

// iterators returns the entries of forEach, in order.
func (r *resource) iterators() (all []source.Field) {
	if list := r.node.At("forEach"); list != nil {
		for _, item := range list.Items {
			all = append(all, item.Fields...)
		}
	}
	return all
}

// gvk returns the kind of an object or reference.
func gvk(n *source.Node) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(n.At("apiVersion").Literal().Value, n.At("kind").Literal().Value)
}

// lookup returns an external reference as a lookup.
func (c *converter) lookup(r *resource) *yaml.Node {
	at := place{path: r.path + ".externalRef"}
	metadata := c.data(r.external.At("metadata"), at.below("metadata"))
	for _, key := range []string{"readyWhen", "includeWhen", "forEach"} {
		if n := r.node.At(key); n != nil && len(n.Items) > 0 {
			c.report.Lost(n.Pos, r.path+"."+key, "test it in the when of the children that read the lookup",
				"a lookup has no %s", key)
		}
	}
	kind := gvk(r.external)
	name, selector, namespace := metadata.At("name"), metadata.At("selector"), metadata.At("namespace")
	if name == nil && selector == nil {
		c.report.Lost(r.external.Pos, at.path, "write metadata.name or metadata.selector", "the reference names no object")
		return nil
	}
	if selector != nil && namespace == nil {
		namespace = foreign.AllNamespaces
	}
	c.allow.Lookup(kind.GroupKind(), namespace)
	if namespace != nil && foreign.IsOwnNamespace(namespace) {
		namespace = nil
	}
	return foreign.Map(
		"id", foreign.Text(c.names[r.id]),
		"apiVersion", foreign.Text(kind.GroupVersion().String()),
		"kind", foreign.Text(kind.Kind),
		"name", dataOrNil(name),
		"selector", dataOrNil(selector),
		"namespace", dataOrNil(namespace),
	)
}

func dataOrNil(n *source.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	return foreign.Data(n)
}

// child returns a resource as a child, or nil if it has no template.
func (c *converter) child(r *resource) *yaml.Node {
	if r.template == nil || r.template.Kind != source.Map {
		c.report.Lost(r.node.Pos, r.path, "write a template", "the resource has neither template nor externalRef")
		return nil
	}
	conditions := c.conditions(r, "includeWhen", place{path: r.path})
	at := place{path: r.path, iterators: map[string][]string{}, optional: len(conditions) > 0}
	forEach := foreign.Map()
	for _, it := range r.iterators() {
		e := c.only(it.Value, at.below("forEach"))
		if e == nil {
			continue
		}
		name := c.names[it.Key.Value]
		if list, known := pathOf(e, nil, at.iterators); known {
			at.iterators[name] = append(list, foreign.Element)
		}
		forEach.Content = append(forEach.Content, foreign.Text(name), foreign.Text(c.print(e, it.Value.Pos, at)))
	}
	template := c.template(r, at.below("template"))
	ready := at
	ready.own = r.id
	readyWhen := c.joined(c.conditions(r, "readyWhen", ready), r.node.Pos, at)
	if len(forEach.Content) == 0 {
		forEach = nil
	}
	child := foreign.Map(
		"id", foreign.Text(c.names[r.id]),
		"onChange", foreign.Bare(c.onChange(template, r.template.Pos, at)),
		"forEach", forEach,
		"readyWhen", foreign.Bare(readyWhen),
		"template", foreign.Data(template),
	)
	if len(conditions) > 0 {
		c.optional = append(c.optional, optional{child, conditions, c.needs.ofChild(), r.node.Pos, at})
	}
	return child
}

// An optional child is one whose when is not complete: it depends on what the rule
// requires anyway.
type optional struct {
	child      *yaml.Node
	conditions []ast.Expr
	reads      [][]string
	pos        source.Pos
	at         place
}

// complete adds the when of optional children.
func (c *converter) complete() {
	for _, o := range c.optional {
		conditions := append(o.conditions, c.needs.guards(o.conditions, o.reads)...)
		o.child.Content = append(o.child.Content, foreign.Text("when"), foreign.Text(c.joined(conditions, o.pos, o.at)))
	}
}

// conditions returns the expressions of a list.
func (c *converter) conditions(r *resource, key string, at place) (all []ast.Expr) {
	list := r.node.At(key)
	if list == nil {
		return nil
	}
	for _, item := range list.Items {
		if e := c.only(item, at.below(key)); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// joined returns conditions as one expression, or "" without any.
func (c *converter) joined(conditions []ast.Expr, pos source.Pos, at place) string {
	if len(conditions) == 0 {
		return ""
	}
	return c.print(unchecked.All(conditions), pos, at)
}

// template returns the object of a child.
func (c *converter) template(r *resource, at place) *source.Node {
	out := c.data(foreign.Template(r.template, c.report, at.path), at)
	c.allow.Child(gvk(out), out.At("metadata", "namespace"), r.template.Pos, at.path)
	return out
}

// onChange returns what to do about changes that the API server rejects, or "".
func (c *converter) onChange(template *source.Node, pos source.Pos, at place) string {
	role := template.At("roleRef")
	computed := false
	if role != nil {
		for range role.Expressions() {
			computed = true
		}
	}
	switch kind := gvk(template).GroupKind().String(); {
	case kind == "Pod":
		c.report.Note(pos, at.path, "decide about onChange of the child",
			"hardly any field of a Pod can be changed: a changed Pod is replaced")
	case kind == "Job.batch":
		c.report.Note(pos, at.path, "write onChange: replace if a changed Job is to run again",
			"most fields of a Job cannot be changed: it is kept as it is")
		return "keep"
	case computed:
		c.report.Note(pos, at.path, "decide about onChange of the child",
			"roleRef cannot be changed: a changed binding is replaced")
	default:
		return ""
	}
	return "replace"
}
