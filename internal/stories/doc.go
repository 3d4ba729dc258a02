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
}

func (s *Stage) resource(group, version, name string) dynamic.ResourceInterface {
	return s.Client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: name}).Namespace(s.Namespace)
}
