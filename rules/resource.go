package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/syntax"
)

// RulesResource is the resource of Rules objects: a document of a rules file as an object of a cluster.
var RulesResource = schema.FromAPIVersionAndKind(syntax.APIVersion, syntax.Kind).GroupVersion().WithResource("rules")
