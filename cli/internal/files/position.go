package files

import (
	"bytes"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"reconcel/rules/source"
)

// step matches a step of a path like spec.versions[0].labels["a.b"].
var step = regexp.MustCompile(`\[("(?:[^"\\]|\\.)*"|[0-9]+)\]|[^.\[]+`)

// oldBoolean matches the words that are booleans in YAML 1.1, as Kubernetes reads it.
var oldBoolean = regexp.MustCompile(`^(?i:yes|no|on|off)$`)

// Source returns the file of the object.
func (o *Object) Source() source.File { return source.File{Name: o.File, Data: o.text} }

// Position returns where the file has a field of the object, or else the nearest field
// that contains it. Only the file is known of an object in JSON with several documents.
func (o *Object) Position(path string) source.Pos {
	at := source.Pos{File: o.File}
	documents := yaml.NewDecoder(bytes.NewReader(o.text))
	for {
		var document yaml.Node
		if documents.Decode(&document) != nil {
			return at
		}
		if n := o.in(&document); n != nil {
			at.Line, at.Column = n.Line, n.Column
			for _, s := range step.FindAllStringSubmatch(path, -1) {
				key, value := below(n, s)
				if value == nil {
					return at
				}
				at.Line, at.Column = key.Line, key.Column
				n = value
			}
			return at
		}
	}
}

// in returns the node of the object in a document, also as an item of a list, or nil.
func (o *Object) in(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.DocumentNode {
		return o.in(n.Content[0])
	}
	var named struct {
		Kind     string
		Metadata struct{ Name yaml.Node }
		Items    []yaml.Node
	}
	if n.Decode(&named) != nil {
		return nil
	}
	name := &named.Metadata.Name
	if tag := name.ShortTag(); tag == "!!bool" || tag == "!!int" || tag == "!!float" || tag == "!!null" ||
		oldBoolean.MatchString(name.Value) {
		name = &yaml.Node{} // To Kubernetes, this is no name.
	}
	if named.Kind == o.Unstructured.GetKind() && name.Value == o.Unstructured.GetName() {
		return n
	}
	for i := range named.Items {
		if item := o.in(&named.Items[i]); item != nil {
			return item
		}
	}
	return nil
}

// below returns the value of a step in a map or list, and what a message points at: the
// key, or the value in a list. Both are nil if the step leads nowhere.
func below(n *yaml.Node, step []string) (key, value *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	name, i := step[0], -1
	if step[1] != "" {
		if text, err := strconv.Unquote(step[1]); err == nil {
			name = text
		} else {
			i, _ = strconv.Atoi(step[1])
		}
	}
	if n.Kind == yaml.SequenceNode && i >= 0 && i < len(n.Content) {
		return n.Content[i], n.Content[i]
	}
	for k := 0; n.Kind == yaml.MappingNode && k < len(n.Content); k += 2 {
		if n.Content[k].Value == name {
			return n.Content[k], n.Content[k+1]
		}
	}
	return nil, nil
}
