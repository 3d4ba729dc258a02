package crossplane

import (
	"cmp"
	"fmt"

	"go.yaml.in/yaml/v3"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/convert/foreign"
	"reconcel/rules/source"
)

// secretRef is the field of resources that names their connection Secret.
const secretRef = "writeConnectionSecretToRef"

var secretKind = runtimeschema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// connectionDetails adds the connection details of a resource to the Secret of the primary.
func (c *converter) connectionDetails(r *composed, list *source.Node, path string) {
	if list == nil {
		return
	}
	for i, d := range list.Items {
		if err := c.connectionDetail(r, d); err != nil {
			c.lose(err, d.Pos, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

func (c *converter) connectionDetail(r *composed, d *source.Node) error {
	key, field, literal := d.At("fromConnectionSecretKey"), d.At("fromFieldPath"), d.At("value")
	name := cmp.Or(d.At("name").Literal().Value, key.Literal().Value)
	if name == "" {
		return lost(d, "write its name", "the connection detail has no name")
	}
	part, out := "stringData", literal
	switch {
	case key != nil:
		secret, err := c.connectionOf(r, d)
		if err != nil {
			return err
		}
		part = "data"
		out, err = value{text: secret + ".data" + foreign.Selection(key.Literal().Value)}.node(d.Pos, nil, nil)
		if err != nil {
			return err
		}
	case field != nil:
		v, err := fromChild(r, field, d)
		if err != nil {
			return err
		}
		if out, err = v.node(d.Pos, nil, nil); err != nil {
			return err
		}
	case literal == nil:
		return lost(d, "write its value", "the connection detail has no value")
	}
	var err error
	c.connection, err = put(c.connection, []step{{key: part}, {key: name}}, d.Pos,
		func(*source.Node) (*source.Node, error) { return out, nil })
	return err
}

// connectionOf returns the id of the lookup of a resource's connection Secret.
func (c *converter) connectionOf(r *composed, at *source.Node) (string, error) {
	id := r.id + "Connection"
	if c.lookedUp[id] {
		return id, nil
	}
	name, namespace := r.base.At("spec", secretRef, "name"), r.base.At("spec", secretRef, "namespace")
	if name == nil {
		return "", lost(at, "write spec."+secretRef+" into the base", "the resource writes no connection Secret")
	}
	c.lookedUp[id] = true
	c.allow.Lookup(secretKind.GroupKind(), namespace)
	lookup := foreign.Map("id", foreign.Text(id), "apiVersion", foreign.Text("v1"), "kind", foreign.Text("Secret"), "name",
		foreign.Data(name))
	if namespace != nil && !foreign.IsOwnNamespace(namespace) {
		lookup.Content = append(lookup.Content, foreign.Text("namespace"), foreign.Data(namespace))
	}
	c.lookups.Content = append(c.lookups.Content, lookup)
	return id, nil
}

// connectionSecret returns the child that is the connection Secret of the primary, or nil.
func (c *converter) connectionSecret() (*yaml.Node, error) {
	if c.connection == nil {
		return nil, nil
	}
	ref := "self.spec." + secretRef
	name, err := value{text: ref + ".name"}.node(c.node.Pos, nil, nil)
	if err != nil {
		return nil, err
	}
	metadata := foreign.Map("name", foreign.Data(name))
	var namespace *source.Node
	if c.allow.Cluster {
		if namespace, err = (value{text: ref + ".namespace"}).node(c.node.Pos, nil, nil); err != nil {
			return nil, err
		}
		metadata.Content = append(metadata.Content, foreign.Text("namespace"), foreign.Data(namespace))
	}
	c.allow.Child(secretKind, namespace, c.node.Pos, "connectionDetails")
	template := foreign.Map("apiVersion", foreign.Text("v1"), "kind", foreign.Text("Secret"), "metadata", metadata)
	template.Content = append(template.Content, foreign.Data(c.connection).Content...)
	return foreign.Map("id", foreign.Text("connection"), "when", foreign.Text("has("+ref+")"), "template", template), nil
}
