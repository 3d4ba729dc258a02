package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ownPrefix is that of the labels and annotations by which reconcel knows its
// own objects again.
const ownPrefix = "reconcel.dev/"

// metadataKeys are what a template may say about its object.
var metadataKeys = []string{"name", "namespace", "labels", "annotations", "finalizers"}

const apiServerSets = "the API server sets it"

// refusedMetadata says why the rest is not for templates.
var refusedMetadata = map[string]string{
	"generateName":               "the name must be known beforehand: write name",
	"ownerReferences":            "reconcel sets the owner reference itself",
	"managedFields":              apiServerSets,
	"uid":                        apiServerSets,
	"resourceVersion":            apiServerSets,
	"generation":                 apiServerSets,
	"creationTimestamp":          apiServerSets,
	"deletionTimestamp":          apiServerSets,
	"deletionGracePeriodSeconds": apiServerSets,
	"selfLink":                   apiServerSets,
}

// readTemplate reads the object that a child is made from.
func (s scope) readTemplate(n *yaml.Node) *Node {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		return nil
	}
	values := make(table)
	for _, e := range s.muted().entries(n) {
		values[e.key.Value] = e.value
		if e.key.Value == "status" {
			s.errorf(e.key.Pos, "status is a controller's to write, not a template's").Hint = "remove it"
		}
	}
	if v := s.required(n, values, "apiVersion"); v != nil {
		s.key("apiVersion").apiVersion(v)
	}
	if v := s.required(n, values, "kind"); v != nil {
		s.key("kind").kind(v)
	}
	if v := s.required(n, values, "metadata"); v != nil {
		s.key("metadata").checkMetadata(v)
	}
	return s.data(n)
}

// muted returns a scope whose complaints go nowhere, for what is read a
// second time.
func (s scope) muted() scope {
	s.parser = &parser{}
	return s
}

// required returns the value of a key that must be there.
func (s scope) required(n *yaml.Node, values table, key string) *yaml.Node {
	if values[key] == nil {
		s.errorf(s.text.pos(n), "missing %s", key)
		return nil
	}
	return values[key]
}

func (s scope) checkMetadata(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map with name")
		return
	}
	named := false
	for _, e := range s.muted().entries(n) {
		key := e.key.Value
		if why := refusedMetadata[key]; why != "" {
			s.errorf(e.key.Pos, "%s cannot be set: %s", key, why)
			named = named || key == "generateName"
			continue
		}
		switch key {
		case "name":
			named = true
			s.key(key).checkName(e.value)
		case "labels", "annotations":
			s.key(key).checkMarks(e.value)
		default:
			if !slices.Contains(metadataKeys, key) {
				s.errorf(e.key.Pos, "unknown key %q", key).Hint = hintKeys(key, metadataKeys)
			}
		}
	}
	if !named {
		s.errorf(s.text.pos(n), "missing name")
	}
}

func (s scope) checkName(n *yaml.Node) {
	switch {
	case n.Kind != yaml.ScalarNode || isNull(n):
		s.wrongShape(n, "a string")
	case !isText(n):
		s.errorf(s.text.pos(n), "expected a string, got %s", describe(n)).Hint = "write " + quoted(n.Value)
	case n.Value == "":
		s.errorf(s.text.pos(n), "is empty")
	}
}

// checkMarks refuses labels and annotations that are reconcel's own, and
// values that the API server would refuse.
func (s scope) checkMarks(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if n.Kind == yaml.SequenceNode || !isText(n) && !isNull(n) {
			s.wrongShape(n, "a map")
		}
		return
	}
	for _, e := range s.muted().entries(n) {
		if strings.HasPrefix(e.key.Value, ownPrefix) {
			s.errorf(e.key.Pos, "%q cannot be set: %s is reconcel's own", e.key.Value, ownPrefix)
			continue
		}
		if e.value.Kind == yaml.ScalarNode && !isText(e.value) && !isNull(e.value) {
			s.key(e.key.Value).errorf(s.text.pos(e.value), "expected a string, got %s", describe(e.value)).Hint =
				"write " + quoted(e.value.Value)
		}
	}
}
