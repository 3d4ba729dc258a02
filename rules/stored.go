package rules

import (
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/schema"
)

// The API server does not store everything that it receives. Renderings of built-in
// kinds leave out what it drops: otherwise their hash would cover fields that nobody
// can own, and each apply would change the object. Objects of custom kinds are
// stored as they are sent. (Null entries of a template are left out in all kinds.)

// freeForm are built-in kinds that hold free JSON, in which null, [] and {} mean
// something.
var freeForm = map[runtimeschema.GroupKind]bool{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
	{Group: "apps", Kind: "ControllerRevision"}:                       true,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                   true,
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                 true,
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:         true,
}

// mapFields are the fields of built-in kinds that are Go maps: empty, they are
// not stored. A field that is a struct is stored as {} and often means
// something: emptyDir, podSelector, a selector that selects everything.
var mapFields = map[string]bool{
	"annotations": true, "binaryData": true, "data": true, "extra": true, "hard": true, "labels": true,
	"limits": true, "matchLabels": true, "nodeSelector": true, "overhead": true, "parameters": true,
	"requests": true, "stringData": true, "volumeAttributes": true, "capacity": true, "allocatable": true,
}

// mapFieldsOf are those that are maps in some kinds and structs in others.
var mapFieldsOf = map[runtimeschema.GroupKind]map[string]bool{
	{Kind: "Service"}:               {"selector": true},
	{Kind: "ReplicationController"}: {"selector": true},
	{Kind: "LimitRange"}: {
		"default": true, "defaultRequest": true, "max": true, "min": true, "maxLimitRequestRatio": true,
	},
}

// notStored returns what the API server leaves out of objects of a kind, or
// nil if it keeps everything.
func notStored(gk runtimeschema.GroupKind) expr.Omit {
	if !schema.BuiltInGroup(gk.Group) || freeForm[gk] {
		return nil
	}
	own := mapFieldsOf[gk]
	return func(field string, value expr.Empty) bool {
		return value != expr.EmptyMap || mapFields[field] || own[field]
	}
}
