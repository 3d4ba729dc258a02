// Package stories has stories of users that tests tell twice: in memory, and on a real
// control plane. Both must end in the same states.
package stories

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/inventory"
)

// A Stage is where a story takes place: a cluster with a controller that runs the rules of
// the story.
type Stage struct {
	testing.TB
	Context   context.Context
	Client    dynamic.Interface
	Namespace string
	// Installation is the namespace and name of the controller's own objects.
	Installation types.NamespacedName
	// Eventually waits until check returns nil, or fails the test.
	Eventually func(what string, check func() error)
	// Restart replaces the controller by one without any memory, with the same rules.
	Restart func()
	// Reload gives the controller other rules, in which NAMESPACE stands for the namespace.
	Reload func(rules string)
}

// A Story is told on a Stage on which its rules run.
type Story struct {
	Name  string
	Rules string // NAMESPACE stands for the namespace
	Tell  func(*Stage)
}

// All has the stories that need nothing but a Stage.
var All = []Story{
	{"lookups", lookupRules, tellLookups},
	{"sequence", SequenceRules, tellSequence},
	{"settings", settingsRules, tellSettings},
	{"annotations", annotationRules, tellAnnotations},
	{"conditions of elements", conditionRules, tellConditions},
	{"many objects", largeRules, tellLarge},
	{"definitions", DefinitionsRules, tellDefinitions},
	{"several kinds", kindsRules, tellKinds},
	{"bundle", BundleRules, tellBundle},
	{"shared objects", SharedRules, tellShared},
	{"requested", requestedRules, tellRequested},
	{"held", heldWith(10, "one"), tellHeld},
	{"rollout", rolloutTo("one", "pause"), tellRollout},
	{"rollout with first ones", rolloutTo("one", "pause"), tellFirst},
}

func (s *Stage) resource(group, version, name string) dynamic.ResourceInterface {
	return s.Client.Resource(schema.GroupVersionResource{Group: group, Version: version,
		Resource: name}).Namespace(s.Namespace)
}

// installation returns the inventory, as commands of users change it.
func (s *Stage) installation() *inventory.Inventory {
	return inventory.New(s.Client, inventory.Options{Namespace: s.Installation.Namespace,
		Installation: s.Installation.Name, FieldManager: "someone"})
}
