package crd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	sigsyaml "sigs.k8s.io/yaml"
)

// Merge adds definitions to the text of a file of CRDs, which loses nothing, neither a value
// nor a comment. Its notes name what stored objects may not satisfy, and where the rules and
// the file differ: the file is right then.
func Merge(text []byte, found []*Definition) (merged []byte, notes []string, err error) {
	var docs []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		doc := &yaml.Node{}
		if err := dec.Decode(doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("read the CRD: %w", err)
		}
		docs = append(docs, doc)
	}
	for _, d := range found {
		into := slices.IndexFunc(docs, d.isIn)
		doc, err := d.document()
		if err != nil {
			return nil, nil, err
		}
		if into < 0 {
			docs = append(docs, doc)
			continue
		}
		m := &merger{of: d}
		if err := m.definition(docs[into].Content[0], doc); err != nil {
			return nil, nil, err
		}
		notes = append(notes, m.notes...)
	}
	var b bytes.Buffer
	for i, doc := range docs {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := encode(doc)
		if err != nil {
			return nil, nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), notes, nil
}

// isIn reports whether a document defines the kind.
func (d *Definition) isIn(doc *yaml.Node) bool {
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return false
	}
	group, kind := at(doc.Content[0], "spec", "group"), at(doc.Content[0], "spec", "names", "kind")
	return group != nil && kind != nil && group.Value == d.GVK.Group && kind.Value == d.GVK.Kind
}

// A merger adds to the definition of a kind.
type merger struct {
	of    *Definition
	notes []string
}

func (m *merger) note(path, format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf("%s: %s: %s", m.of.GVK.Kind, path, fmt.Sprintf(format, args...)))
}

// definition adds to a CRD.
func (m *merger) definition(into, from *yaml.Node) error {
	added := at(from, "spec", "versions").Content[0]
	name := at(added, "name").Value
	versions := at(into, "spec", "versions")
	if versions == nil || versions.Kind != yaml.SequenceNode {
		return errors.New("spec.versions is not a list")
	}
	if a, b := at(into, "spec", "scope"), at(from, "spec", "scope"); a != nil && a.Value != b.Value {
		m.note("spec.scope", "it is %s, and the rules read like %s", a.Value, b.Value)
	}
	if names := at(into, "spec", "names"); names != nil {
		ours := mapping()
		for _, key := range []string{"shortNames", "categories"} {
			if list := at(from, "spec", "names", key); list != nil {
				set(ours, key, list)
			}
		}
		m.differences("spec.names.", names, at(from, "spec", "names"), m.of.Names)
		addMissing(names, ours)
	}
	i := slices.IndexFunc(versions.Content,
		func(v *yaml.Node) bool { n := at(v, "name"); return n != nil && n.Value == name })
	if i < 0 {
		set(added, "storage", text(false))
		removeFirst(added, "storage")
		versions.Content = append(versions.Content, added)
		return nil
	}
	version := versions.Content[i]
	m.subresources(version, added)
	m.columns(version, added)
	schema := at(version, "schema", "openAPIV3Schema")
	if schema == nil {
		return fmt.Errorf("the version %s has no schema.openAPIV3Schema", name)
	}
	m.schema("", schema, at(added, "schema", "openAPIV3Schema"))
	result, err := parsed(schema)
	if err != nil {
		return err
	}
	for _, v := range m.of.Validations {
		m.validation(v, v.In(result), schema)
	}
	return nil
}

// removeFirst removes the first entry of a key.
func removeFirst(n *yaml.Node, key string) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

func (m *merger) subresources(version, added *yaml.Node) {
	theirs, ours := at(version, "subresources"), at(added, "subresources")
	if theirs == nil {
		set(version, "subresources", ours)
		return
	}
	if scale := at(theirs, "scale"); scale != nil {
		m.differences("subresources.scale.", scale, at(ours, "scale"), m.of.Scale)
	}
	addMissing(theirs, ours)
}

// differences names the entries of a map that the rules say, and that the file has otherwise.
func (m *merger) differences(path string, theirs, ours *yaml.Node, said map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(said)) {
		had, is := at(theirs, key), at(ours, key)
		if had != nil && is != nil && inline(had) != inline(is) {
			m.note(path+key, "it is %s, and the rules say %s", inline(had), inline(is))
		}
	}
}

// inline returns a text, or a list of texts, on one line.
func inline(n *yaml.Node) string {
	if n.Kind != yaml.SequenceNode {
		return n.Value
	}
	var all []string
	for _, item := range n.Content {
		all = append(all, item.Value)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// addMissing adds the entries that a map does not have.
func addMissing(theirs, ours *yaml.Node) {
	for i := 0; i < len(ours.Content); i += 2 {
		if name := ours.Content[i].Value; at(theirs, name) == nil {
			block(theirs)
			set(theirs, name, ours.Content[i+1])
		}
	}
}

// columns adds printer columns, unless the version has some: people choose few.
func (m *merger) columns(version, added *yaml.Node) {
	const key = "additionalPrinterColumns"
	if at(version, key) == nil {
		set(version, key, at(added, key))
	}
}

// parsed returns a schema.
func parsed(n *yaml.Node) (*spec.Schema, error) {
	out := &spec.Schema{}
	text, err := yaml.Marshal(n)
	if err == nil {
		err = sigsyaml.Unmarshal(text, out)
	}
	if err != nil {
		return nil, fmt.Errorf("read the schema of the CRD: %w", err)
	}
	return out, nil
}

// block makes a map in brackets one on lines.
func block(n *yaml.Node) { n.Style &^= yaml.FlowStyle }

// schema adds to the schema of a field.
func (m *merger) schema(path string, into, from *yaml.Node) {
	if theirs, ours := typeOf(into), typeOf(from); theirs != ours {
		if theirs != "" && ours != "" {
			m.note(path, "its type is %s, and the rules use it as %s", theirs, ours)
		}
		return
	}
	m.validations(path, into, from)
	m.required(path, into, from)
	for _, key := range []string{"items", "additionalProperties"} {
		if a, b := at(into, key), at(from, key); a != nil && b != nil && a.Kind == yaml.MappingNode {
			m.schema(path+"[]", a, b)
		}
	}
	if open := at(from, preserveUnknown); open != nil && at(into, preserveUnknown) == nil &&
		at(into, "additionalProperties") == nil {
		block(into)
		set(into, preserveUnknown, open)
	}
	ours := at(from, "properties")
	if ours == nil {
		return
	}
	theirs := at(into, "properties")
	if theirs == nil {
		if at(into, preserveUnknown) != nil || at(into, "additionalProperties") != nil {
			return // It has every field.
		}
		theirs = mapping()
		block(into)
		set(into, "properties", theirs)
	}
	for i := 0; i < len(ours.Content); i += 2 {
		name, field := ours.Content[i], ours.Content[i+1]
		below := strings.TrimPrefix(path+"."+name.Value, ".")
		if had := at(theirs, name.Value); had != nil {
			m.schema(below, had, field)
			continue
		}
		block(theirs)
		block(into)
		theirs.Content = append(theirs.Content, name, field)
	}
}

// validations names checks of the schema of a rule that the file does not have. To add them could contradict what
// people have written.
func (m *merger) validations(path string, into, from *yaml.Node) {
	ours := at(from, validations)
	if ours == nil {
		return
	}
	for _, n := range ours.Content {
		rule := at(n, "rule").Value
		if !hasRule(into, rule) && !slices.ContainsFunc(m.of.Validations,
			func(v Validation) bool { return strings.Join(v.Path, ".") == path && Unguarded(rule, v.plain()) }) {
			m.note(strings.TrimPrefix(path+"."+validations, "."), "the rules also check: %s", rule)
		}
	}
}

// validation names a check of the rules that the file does not have, or has for the whole object, where the API server
// does not accept it to be false for an unchanged field. placed is where it can be in the file.
func (m *merger) validation(v, placed Validation, root *yaml.Node) {
	place := strings.Join(slices.Concat(placed.Path, []string{validations}), ".")
	for i, rule := range v.Rules {
		if !hasRule(root, rule) {
			if i < len(v.Path) {
				root = at(root, "properties", v.Path[i])
			}
			continue
		}
		if i == 0 && len(placed.Path) > 0 {
			m.note(validations, "move %s to %s, as %s: otherwise the status of stored objects that fail it cannot be written",
				rule, place, placed.rule())
		}
		return
	}
	m.note(place, "the rules also check: %s", placed.rule())
}

// hasRule reports whether a schema has a rule of the API server, with a guard or without.
func hasRule(schema *yaml.Node, rule string) bool {
	rules := at(schema, validations)
	return rules != nil && slices.ContainsFunc(rules.Content,
		func(n *yaml.Node) bool { r := at(n, "rule"); return r != nil && Unguarded(r.Value, rule) })
}

// required adds required fields that the file does not have.
func (m *merger) required(path string, into, from *yaml.Node) {
	ours := at(from, "required")
	if ours == nil {
		return
	}
	for _, name := range ours.Content {
		below := strings.TrimPrefix(path+"."+name.Value, ".")
		theirs := at(into, "required")
		if had := at(into, "properties", name.Value); had != nil && at(had, "default") != nil {
			continue
		}
		if theirs != nil && slices.ContainsFunc(theirs.Content, func(n *yaml.Node) bool { return n.Value == name.Value }) {
			continue
		}
		if theirs == nil {
			theirs = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			block(into)
			set(into, "required", theirs)
		}
		theirs.Content = append(theirs.Content, text(name.Value))
		m.note(below, "it is required now, because the rules read it without a guard: update stored objects that lack it, "+
			"or give it a default")
	}
}

// typeOf returns the type of a schema, or "" if it has every value.
func typeOf(n *yaml.Node) string {
	if of := at(n, "type"); of != nil {
		return of.Value
	}
	if at(n, "x-kubernetes-int-or-string") != nil {
		return "int-or-string"
	}
	return ""
}
