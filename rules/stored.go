package rules

import (
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/schema"
)

// The API server does not store everything that it receives. Renderings of built-in
// kinds omit the fields that it drops. Otherwise their hash would include fields
// that no manager can own, and each apply would change the object. Objects of
// custom kinds are stored as sent. (Null entries of a template are omitted in all
// kinds.)

// freeForm are built-in kinds that contain arbitrary JSON, in which null, [] and {}
// have a meaning.
var freeForm = map[runtimeschema.GroupKind]bool{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
	{Group: "apps", Kind: "ControllerRevision"}:                       true,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                   true,
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                 true,
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:         true,
}

// mapFields are the fields of built-in kinds that are Go maps. The API server does
// not store empty maps. It stores an empty struct as {}, which often has a meaning:
// emptyDir, podSelector, or a selector of all objects.
var mapFields = map[string]bool{
	"annotations": true, "binaryData": true, "data": true, "extra": true, "hard": true, "labels": true,
	"limits": true, "matchLabels": true, "nodeSelector": true, "overhead": true, "parameters": true,
	"requests": true, "stringData": true, "volumeAttributes": true, "capacity": true, "allocatable": true,
}

// mapFieldsOf are fields that are maps in some kinds and structs in others.
var mapFieldsOf = map[runtimeschema.GroupKind]map[string]bool{
	{Kind: "Service"}:               {"selector": true},
	{Kind: "ReplicationController"}: {"selector": true},
	{Kind: "LimitRange"}: {
		"default": true, "defaultRequest": true, "max": true, "min": true, "maxLimitRequestRatio": true,
	},
}

// notStored returns which values the API server drops from objects of a kind, or
// nil if it stores all.
func notStored(gk runtimeschema.GroupKind) expr.Omit {
	if !schema.BuiltInGroup(gk.Group) || freeForm[gk] {
		return nil
	}
	own := mapFieldsOf[gk]
	return func(field string, value expr.Empty) bool {
		return value != expr.EmptyMap || mapFields[field] || own[field]
	}
}
