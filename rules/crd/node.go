package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// text returns a scalar.
func text(value any) *yaml.Node {
	n := &yaml.Node{}
	_ = n.Encode(value) // A scalar has a text.
	return n
}

// mapping returns a map of keys and values: scalars or nodes.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(pairs); i += 2 {
		value, isNode := pairs[i+1].(*yaml.Node)
		if !isNode {
			value = text(pairs[i+1])
		}
		set(n, pairs[i].(string), value)
	}
	return n
}

// set adds an entry to a map.
func set(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, text(key), value)
}

// at returns the value below keys, or nil.
func at(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		_, value := entry(n, key)
		if n = value; n == nil {
			return nil
		}
	}
	return n
}

// entry returns an entry of a map.
func entry(n *yaml.Node, key string) (name, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// order is that of the keys of a schema. Others follow, sorted.
var order = []string{
	"description", "type", "format", "required", "default", "enum", "minimum", "maximum", "minLength", "maxLength",
	"pattern", "minItems", "maxItems",
	validations, preserveUnknown, "x-kubernetes-int-or-string",
	"x-kubernetes-list-type", "x-kubernetes-list-map-keys", "items",
	"additionalProperties", "properties",
}

// schemaNode returns a schema as a tree with comments.
func (d *Definition) schemaNode(s *spec.Schema) (*yaml.Node, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the schema of %s: %w", d.GVK.Kind, err)
	}
	var doc yaml.Node // JSON is YAML, and this keeps large numbers.
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("write the schema of %s: %w", d.GVK.Kind, err)
	}
	return d.laidOut("", doc.Content[0]), nil
}

// laidOut returns a schema with the keys in order, in the style of files.
func (d *Definition) laidOut(path string, n *yaml.Node) *yaml.Node {
	out := mapping()
	keys := order
	var others []string
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; !slices.Contains(order, key) {
			others = append(others, key)
		}
	}
	keys = slices.Concat(keys, slices.Sorted(slices.Values(others)))
	for _, key := range keys {
		value := at(n, key)
		switch {
		case value == nil:
			continue
		case key == "items" || key == "additionalProperties" && value.Kind == yaml.MappingNode:
			value = d.laidOut(path+"[]", value)
		case key == "properties":
			value = d.properties(path, value)
		default:
			plainStyle(value)
			if slices.Contains([]string{"required", "enum", "x-kubernetes-list-map-keys"}, key) {
				value.Style = yaml.FlowStyle
			}
		}
		set(out, key, value)
	}
	return out
}

func (d *Definition) properties(path string, n *yaml.Node) *yaml.Node {
	fields := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		fields[n.Content[i].Value] = n.Content[i+1]
	}
	out := mapping()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below := name
		if path != "" {
			below = path + "." + name
		}
		set(out, name, d.laidOut(below, fields[name]))
		if comment := d.Comments[below]; comment != "" {
			out.Content[len(out.Content)-2].HeadComment = "# " + comment
		}
	}
	return out
}

// plainStyle removes the quotes and brackets of JSON.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	if len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		*n = *text(n.Value)
	}
	for _, c := range n.Content {
		plainStyle(c)
	}
}
