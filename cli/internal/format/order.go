package format

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"reconcel/rules/source"
)

// ofObject are the first keys of any Kubernetes object.
var ofObject = []string{"apiVersion", "kind", "metadata"}

// alternatives returns the schemas that a value may have.
func alternatives(s *source.Schema) []*source.Schema {
	if s == nil {
		return nil
	}
	all := []*source.Schema{s}
	for _, one := range s.AnyOf {
		all = append(all, alternatives(one)...)
	}
	return all
}

// valueSchema returns the schema of the value of a key, or nil.
func valueSchema(s *source.Schema, key string) *source.Schema {
	for _, one := range alternatives(s) {
		for _, p := range one.Properties {
			if p.Name == key {
				return p.Value
			}
		}
	}
	for _, one := range alternatives(s) {
		if others, ok := one.Others.(*source.Schema); ok {
			return others
		}
	}
	return nil
}

// itemSchema returns the schema of the items of a list, or nil.
func itemSchema(s *source.Schema) *source.Schema {
	for _, one := range alternatives(s) {
		if one.Items != nil {
			return one.Items
		}
	}
	return nil
}

// keyOrder returns the keys of a map that have a place in it.
func keyOrder(n *yaml.Node, s *source.Schema) []string {
	for _, one := range alternatives(s) {
		var keys []string
		for _, p := range one.Properties {
			keys = append(keys, p.Name)
		}
		if len(keys) > 1 {
			return keys
		}
	}
	var keys []string
	for i := 0; i < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	if slices.Contains(keys, "apiVersion") && slices.Contains(keys, "kind") {
		return ofObject
	}
	return nil
}

// sorted puts entries into the order of keys. Other entries follow, in their own order.
func sorted(entries []entry, keys []string) {
	place := func(e entry) int {
		if i := slices.Index(keys, e.key); i >= 0 {
			return i
		}
		return len(keys)
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return place(a) - place(b) })
}

// hasAnchors reports whether a document has anchors.
func hasAnchors(n *yaml.Node) bool {
	return n.Anchor != "" || slices.ContainsFunc(n.Content, hasAnchors)
}
