package kro

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/convert/foreign"
	"reconcel/rules"
	"reconcel/rules/check"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// statusOf returns the schema of the status that a rule writes.
func statusOf(rule *yaml.Node, kinds *schema.Set) (spec.Schema, error) {
	out := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	text, err := foreign.RulesText([]*yaml.Node{rule})
	if err != nil {
		return out, err
	}
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: text}})
	if len(loaded.File.Rules) != 1 {
		return out, fmt.Errorf("the rule cannot be read: %w", loaded.Errors)
	}
	compiled := loaded.File.Rules[0]
	if compiled.Status == nil {
		return out, nil
	}
	scope, err := check.NewScope(compiled, kinds)
	if err != nil {
		return out, err
	}
	return *typeOfData(compiled.Status, scope), nil
}

// typeOfData returns the schema of the values of data.
func typeOfData(n *source.Node, scope *check.Scope) *spec.Schema {
	switch n.Kind {
	case source.Map:
		out := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
			Properties: map[string]spec.Schema{}}}
		for _, f := range n.Fields {
			out.Properties[f.Key.Value] = *typeOfData(f.Value, scope)
		}
		return out
	case source.List:
		if len(n.Items) == 0 {
			return spec.ArrayProperty(foreign.Anything())
		}
		return spec.ArrayProperty(typeOfData(n.Items[0], scope))
	case source.Text:
		return spec.StringProperty()
	case source.Bool:
		return spec.BoolProperty()
	case source.Int:
		return spec.Int64Property()
	case source.Interp:
		if len(n.Parts) > 1 {
			return spec.StringProperty()
		}
		return typeOfValue(scope.TypeOf(n.Parts[0].Expr).Value())
	}
	return foreign.Anything()
}

// typeOfValue returns the schema of the values of a type.
func typeOfValue(t check.Type) *spec.Schema {
	switch {
	case t.IsList():
		return spec.ArrayProperty(typeOfValue(t.Element()))
	case t.IsMap():
		return foreign.Anything("object")
	case t.IsBool():
		return spec.BoolProperty()
	}
	switch t.String() {
	case "string":
		return spec.StringProperty()
	case "integer":
		return spec.Int64Property()
	case "number":
		return spec.Float64Property()
	}
	return foreign.Anything()
}
