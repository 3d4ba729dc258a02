package deploy

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"reconcel/rules/syntax"
)

// RulesDefinition returns the CustomResourceDefinition of Rules objects. It has the keys of rules files, as
// they are in their JSON Schema.
func RulesDefinition() Manifest {
	language := syntax.Schema()
	v := values{"description": language.Doc}
	for _, p := range language.Properties {
		v[p.Name] = toNode(p.Value.Structural())
	}
	return fillTemplate("rulesdefinition.yaml", v)
}

func toNode(value any) *yaml.Node {
	n := &yaml.Node{}
	if err := n.Encode(value); err != nil {
		panic(fmt.Sprintf("deploy: %v", err)) // A schema can be written as YAML.
	}
	return n
}
