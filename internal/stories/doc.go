// Package stories has stories of users that tests tell twice: in memory, and on a real
// control plane. Both must end in the same states.
package stories

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// A Stage is where a story takes place: a cluster with a controller that runs the rules of
// the story.
type Stage struct {
	testing.TB
	Context   context.Context
	Client    dynamic.Interface
	Namespace string
	// Eventually waits until check returns nil, or fails the test.
	Eventually func(what string, check func() error)
	// Restart replaces the controller by one without any memory.
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
}

func (s *Stage) resource(group, version, name string) dynamic.ResourceInterface {
	return s.Client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: name}).Namespace(s.Namespace)
}
