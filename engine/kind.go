package engine

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Kind is what the API server says of one kind of object.
type Kind struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Singular   string // name of one of them, as people may call it
	Namespaced bool
	Status     bool // has the status subresource
}

// Kinds tells what kinds of objects a cluster has.
type Kinds interface {
	// Find returns one kind. Where there is none the error is a NoKindError.
	Find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error)
	// Versions returns the versions in which the API server serves a group; of
	// a group that it does not know there are none.
	Versions(ctx context.Context, group string) ([]string, error)
	// Conditions says how the conditions of a custom kind are to be written.
	// The error is a NoKindError until the schema of the kind is published.
	Conditions(ctx context.Context, gvk schema.GroupVersionKind) (ConditionList, error)
}

// A NoKindError says that the API server does not know a kind, yet.
type NoKindError struct {
	GVK schema.GroupVersionKind
	// Served are the versions in which it does know the kind.
	Served []string
}

// Error names the kind, and what there is instead.
func (e NoKindError) Error() string {
	text := fmt.Sprintf("the API server does not know %s, kind %s", e.GVK.GroupVersion(), e.GVK.Kind)
	if len(e.Served) == 0 {
		return text + "; apply its CustomResourceDefinition"
	}
	return text + fmt.Sprintf("; it serves version %s of it: name that one in the rules, or have the CustomResourceDefinition serve %s", strings.Join(e.Served, ", "), e.GVK.Version)
}

// A ConditionList says how status.conditions of a kind may be written.
type ConditionList int

// The ways there are.
const (
	NoConditions     ConditionList = iota // the schema has none, or the kind is built in
	KeyedConditions                       // x-kubernetes-list-type: map; each condition has its own owner
	AtomicConditions                      // one list, to be merged by whoever writes it
)

// ConditionsOf says how conditions may be written whose schema has this list type
// and these map keys (x-kubernetes-list-type, x-kubernetes-list-map-keys).
func ConditionsOf(listType string, mapKeys []string) ConditionList {
	if listType == "map" && len(mapKeys) == 1 && mapKeys[0] == "type" {
		return KeyedConditions
	}
	return AtomicConditions
}
