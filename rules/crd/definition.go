package crd

import (
	_ "embed" // for the conditions
	"fmt"
	"maps"
	"slices"
	"strings"

	"reconcel/internal/yamltext"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	sigsyaml "sigs.k8s.io/yaml"
)

// Conditions is what a version of a CRD needs so that reconcel can report on its resources
// and kubectl get shows it. It is indented as an entry of spec.versions.
// docs/how-to/crd.md repeats it.
//
//go:embed conditions.yaml
var Conditions string

// A Definition is what one version of a custom kind is like.
type Definition struct {
	GVK         runtimeschema.GroupVersionKind
	Cluster     bool         // its objects have no namespace
	Description string       // of the kind
	Spec        *spec.Schema // nil: the objects have none
	Status      *spec.Schema // without conditions; nil: it has nothing else
	Fields      *spec.Schema // the other fields of the objects; nil: there are none
	Validations []Validation
	Names       map[string]any // spec.names of the CRD, beside what follows from the kind
	Scale       map[string]any // subresources.scale of the CRD; nil: derived from the fields
	// Comments stand above fields, by their paths: spec.workers[].name. [] is an element
	// of a list or a value of a map.
	Comments map[string]string
}

// A Validation is a CEL expression that the API server evaluates. On a write that does not change its field, the API
// server accepts that it is false, but not that it fails. Each write changes the whole object, also one of the status.
type Validation struct {
	Path    []string   // of its field; empty: the whole object
	Rules   []string   // as rules of the whole object and of each field on the path
	Needs   [][]string // the fields that it reads unguarded; a stored object may lack one
	Message string
}

// plain returns the rule of the field as its author wrote it.
func (v Validation) plain() string { return v.Rules[len(v.Path)] }

// rule returns the rule of the field, which holds for an object that lacks a field that it reads: whether that may be
// is for the schema to say.
func (v Validation) rule() string {
	var guard strings.Builder
	for _, names := range v.Needs {
		if len(names) > len(v.Path) {
			guard.WriteString("!has(self." + strings.Join(names[len(v.Path):], ".") + ") || ")
		}
	}
	switch rule := v.plain(); {
	case guard.Len() == 0 || !strings.Contains(rule, "?"):
		return guard.String() + rule
	case strings.Contains(rule, "//"):
		return rule // It may end with a comment, which would comment out the bracket.
	default:
		return guard.String() + "(" + rule + ")"
	}
}

// Unguarded reports whether a rule is another one with a guard, or without.
func Unguarded(rule, plain string) bool {
	guard, guarded := strings.CutSuffix(strings.TrimSuffix(rule, ")"), strings.TrimSuffix(plain, ")"))
	return rule == plain || guarded && strings.HasPrefix(guard, "!has(self.")
}

// Name returns the name of the CRD.
func (d *Definition) Name() string { return d.plural() + "." + d.GVK.Group }

func (d *Definition) plural() string {
	if plural, ok := d.Names["plural"].(string); ok {
		return plural
	}
	plural, _ := meta.UnsafeGuessKindToResource(d.GVK)
	return plural.Resource
}

// YAML returns the CRD as text.
func (d *Definition) YAML() ([]byte, error) {
	doc, err := d.document()
	if err != nil {
		return nil, err
	}
	return encode(doc)
}

// Object returns the CRD as an object.
func (d *Definition) Object() (map[string]any, error) {
	text, err := d.YAML()
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := sigsyaml.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", d.GVK.Kind, err)
	}
	return out, nil
}

// encode writes a document as CRDs are usually laid out.
func encode(doc *yaml.Node) ([]byte, error) {
	text, err := yamltext.Documents(doc)
	if err != nil {
		return nil, fmt.Errorf("write the CRD: %w", err)
	}
	return text, nil
}

// document returns the CRD as a tree with comments.
func (d *Definition) document() (*yaml.Node, error) {
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	block, err := conditions()
	if err != nil {
		return nil, err
	}
	columns, statusSchema := at(block, "additionalPrinterColumns"),
		at(block, "schema", "openAPIV3Schema", "properties", "status")
	columns.Content = append(d.columns(), columns.Content...)
	properties := at(root, "properties")
	if properties == nil { // The rules read nothing but metadata.
		properties = mapping()
		set(root, "properties", properties)
	}
	if status := at(properties, "status"); status != nil {
		fields := at(status, "properties")
		if fields == nil {
			fields = mapping()
			set(status, "properties", fields)
		}
		fields.Content = append(fields.Content, at(statusSchema, "properties").Content...)
	} else {
		set(properties, "status", statusSchema)
	}
	scope := "Namespaced"
	if d.Cluster {
		scope = "Cluster"
	}
	return mapping(
		"apiVersion", "apiextensions.k8s.io/v1",
		"kind", "CustomResourceDefinition",
		"metadata", d.metadata(),
		"spec", mapping(
			"group", d.GVK.Group,
			"scope", scope,
			"names", d.names(),
			"versions", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{mapping(
				"name", d.GVK.Version,
				"served", true,
				"storage", true,
				"subresources", d.subresources(),
				"additionalPrinterColumns", columns,
				"schema", mapping("openAPIV3Schema", root),
			)}},
		),
	), nil
}

// names returns the names of the kind.
func (d *Definition) names() *yaml.Node {
	names := map[string]any{"kind": d.GVK.Kind, "listKind": d.GVK.Kind + "List", "plural": d.plural(),
		"singular": strings.ToLower(d.GVK.Kind)}
	maps.Copy(names, d.Names)
	out := mapping()
	for _, key := range []string{"kind", "listKind", "plural", "singular", "shortNames", "categories"} {
		switch value := names[key].(type) {
		case string:
			set(out, key, text(value))
		case []any:
			list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, name := range value {
				list.Content = append(list.Content, text(name))
			}
			set(out, key, list)
		}
	}
	return out
}

// metadata returns the metadata of the CRD. The API server protects the groups of Kubernetes.
func (d *Definition) metadata() *yaml.Node {
	out := mapping("name", d.Name())
	if strings.HasSuffix(d.GVK.Group, ".k8s.io") || strings.HasSuffix(d.GVK.Group, ".kubernetes.io") {
		set(out, "annotations", mapping("api-approved.kubernetes.io", "unapproved, not an API of Kubernetes"))
	}
	return out
}

// root returns the schema of whole objects, without the conditions.
func (d *Definition) root() (*yaml.Node, error) {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Description: d.Description,
		Properties: map[string]spec.Schema{}}}
	if d.Spec != nil {
		s.Properties["spec"] = *d.Spec
		if d.Spec.Default == nil {
			s.Required = []string{"spec"}
		}
	}
	if d.Status != nil && (len(d.Status.Properties) > 0 || len(d.Status.Extensions) > 0) {
		s.Properties["status"] = *d.Status
	}
	if d.Fields != nil {
		maps.Copy(s.Properties, d.Fields.Properties)
		s.Required = append(s.Required, d.Fields.Required...)
		s.Extensions = maps.Clone(d.Fields.Extensions)
	}
	for _, v := range d.Validations {
		rule := map[string]any{"rule": v.rule()}
		if v.Message != "" {
			rule["message"] = v.Message
		}
		*s = withRule(*s, v.Path, rule)
	}
	return d.schemaNode(s)
}

const (
	validations     = "x-kubernetes-validations"
	preserveUnknown = "x-kubernetes-preserve-unknown-fields"
)

// withRule returns a copy of a schema in which a field has one more rule.
func withRule(s spec.Schema, path []string, rule map[string]any) spec.Schema {
	if len(path) == 0 {
		before, _ := s.Extensions[validations].([]any)
		s.Extensions = maps.Clone(s.Extensions)
		s.AddExtension(validations, append(slices.Clip(before), rule))
		return s
	}
	s.Properties = maps.Clone(s.Properties)
	s.Properties[path[0]] = withRule(s.Properties[path[0]], path[1:], rule)
	return s
}

// conditions returns a copy of Conditions as a tree.
func conditions() (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(Conditions), &doc); err != nil {
		return nil, fmt.Errorf("read the conditions: %w", err)
	}
	return doc.Content[0], nil
}

// maxColumns is how many fields of the status kubectl get shows.
const maxColumns = 3

// shown are the columns of Conditions.
var shown = []string{"Ready", "Reason", "Message", "Age"}

// columns returns the printer columns of fields of the status.
func (d *Definition) columns() (out []*yaml.Node) {
	if d.Status == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.Status.Properties)) {
		p := d.Status.Properties[name]
		if len(out) == maxColumns || len(p.Type) != 1 ||
			!slices.Contains([]string{"string", "integer", "number", "boolean"}, p.Type[0]) || !plainName(name) ||
			slices.Contains(shown, columnName(name)) {
			continue
		}
		out = append(out, mapping("name", columnName(name), "type", p.Type[0], "jsonPath", ".status."+name))
	}
	return out
}

func columnName(field string) string {
	if slices.Contains([]string{"url", "ip", "id"}, field) {
		return strings.ToUpper(field)
	}
	return strings.ToUpper(field[:1]) + field[1:]
}

func plainName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
}

// subresources returns status, and scale if there is something to scale.
func (d *Definition) subresources() *yaml.Node {
	out := mapping("status", &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle})
	paths := d.Scale
	if paths == nil && has(d.Spec, "replicas", "integer") && has(d.Status, "replicas", "integer") {
		paths = map[string]any{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
		for _, name := range []string{"labelSelector", "selector"} {
			if has(d.Status, name, "string") {
				paths["labelSelectorPath"] = ".status." + name
			}
		}
	}
	scale := mapping()
	for _, key := range []string{"specReplicasPath", "statusReplicasPath", "labelSelectorPath"} {
		if path := paths[key]; path != nil {
			set(scale, key, text(path))
		}
	}
	if len(paths) > 0 {
		set(out, "scale", scale)
	}
	return out
}

func has(s *spec.Schema, field, of string) bool {
	return s != nil && s.Properties[field].Type.Contains(of)
}
