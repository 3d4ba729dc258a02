package deploy

import (
	"bytes"
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"reconcel/internal/yamltext"
	"reconcel/rules/source"
)

// manifests are the templates of the objects. ${name} is replaced by a value. If it
// is the whole scalar, the value may be a map or a list.
//
//go:embed manifests/*.yaml
var manifests embed.FS

// A Manifest is one file of objects.
type Manifest struct {
	Name string // file name, such as deployment.yaml
	docs []*yaml.Node
}

// values are the values of a manifest's placeholders: strings, ints and nodes.
type values map[string]any

// fillTemplate reads a manifest and inserts the values. It inserts them into the parsed
// document, so that a value cannot change its structure.
func fillTemplate(name string, v values) Manifest {
	m := Manifest{Name: name}
	text, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		panic(fmt.Sprintf("deploy: %v", err)) // A test fills all manifests.
	}
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		doc := &yaml.Node{}
		if err := yaml.Unmarshal([]byte(part), doc); err != nil {
			panic(fmt.Sprintf("deploy: manifests/%s: %v", name, err))
		}
		v.put(doc)
		m.docs = append(m.docs, doc)
	}
	return m
}

func (v values) put(n *yaml.Node) {
	for i, c := range n.Content {
		if given, ok := v.node(c); ok {
			n.Content[i] = given
			continue
		}
		v.put(c)
	}
	if n.Kind == yaml.ScalarNode {
		n.Value = v.text(n.Value)
	}
}

// node returns the value of a scalar that is only a placeholder.
func (v values) node(n *yaml.Node) (*yaml.Node, bool) {
	name, found := strings.CutPrefix(n.Value, "${")
	if n.Kind != yaml.ScalarNode || !found || !strings.HasSuffix(name, "}") {
		return nil, false
	}
	switch value := v[strings.TrimSuffix(name, "}")].(type) {
	case *yaml.Node:
		return value, true
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(value)}, true
	}
	return nil, false
}

var placeholder = regexp.MustCompile(`\$\{[a-z]+\}`)

// text inserts strings into a text. It does not expand inserted values, which may
// contain placeholders of their own.
func (v values) text(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(name string) string {
		if value, ok := v[name[2:len(name)-1]].(string); ok {
			return value
		}
		return name
	})
}

// YAML returns the manifest as YAML documents.
func (m Manifest) YAML() ([]byte, error) {
	for _, doc := range m.docs {
		quoteOldBooleans(doc)
	}
	text, err := yamltext.Documents(m.docs...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	return text, nil
}

// quoteOldBooleans quotes words that kubectl would read as booleans, but that the encoder does not quote.
func quoteOldBooleans(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && source.IsOldBoolean(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		quoteOldBooleans(c)
	}
}

// Print returns manifests as one YAML stream for kubectl apply.
func Print(list []Manifest) ([]byte, error) {
	var parts [][]byte
	for _, m := range list {
		text, err := m.YAML()
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return bytes.Join(parts, []byte("---\n")), nil
}

func boolNode(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

func textNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// flowList returns a list in one line.
func flowList(items []string) *yaml.Node {
	n := blockList(items)
	n.Style = yaml.FlowStyle
	return n
}

// blockList returns a list with one line for each item.
func blockList(items []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range items {
		n.Content = append(n.Content, textNode(item))
	}
	return n
}

// mapNode returns a map of alternating keys and values.
func mapNode(pairs ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Content: pairs}
}
