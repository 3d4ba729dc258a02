package ruletest

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// A Place is where one case is played: a cluster of its own, and a controller at
// work in it that has the rules.
type Place interface {
	// Put makes an object be there, its status and its namespace included.
	Put(ctx context.Context, u *unstructured.Unstructured) error
	// Client is that of somebody who is not the controller.
	Client() dynamic.Interface
	// MarkReady gives an object the status that it has when all is well.
	MarkReady(ctx context.Context, kind *schema.Kind, namespace, name string) error
	// Settle returns when the controller has nothing left to do at this moment.
	// Its error says what does not come to rest.
	Settle(ctx context.Context) error
	// Objects returns all objects but those that every cluster has and those in
	// which the controller keeps its own books.
	Objects(ctx context.Context) ([]*unstructured.Unstructured, error)
	// Events returns all Events so far.
	Events(ctx context.Context) ([]sim.Event, error)
}

// A Memory is a Place that is not real, and so can do more.
type Memory interface {
	Place
	// Advance lets time pass, does everything when it is due, and settles.
	Advance(ctx context.Context, by time.Duration) error
	// Restart ends the controller and begins another one, which remembers
	// nothing, and settles.
	Restart(ctx context.Context) error
	// Reload replaces the rules of the controller while it runs, and settles.
	Reload(ctx context.Context, program *rules.Program) error
	// Fail makes requests of the controller fail.
	Fail(f sim.Failure)
	// Pending returns the failures that have not happened.
	Pending() []sim.Failure
	// Writes returns all writes of the controller so far.
	Writes() []sim.Write
}

// NeedsMemory reports whether a case does or expects something for which the
// place must be a Memory.
func (c *Case) NeedsMemory() bool {
	for _, step := range c.Steps {
		for _, a := range step.When {
			switch a.(type) {
			case advance, fail, restart, *reload:
				return true
			}
		}
		for _, e := range step.Then {
			if _, counted := e.(writes); counted {
				return true
			}
		}
	}
	return false
}
