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

// A Place is where one case runs: its own cluster, with a running controller that
// has the rules.
type Place interface {
	// Put creates an object with its status, and its namespace if that is missing.
	Put(ctx context.Context, u *unstructured.Unstructured) error
	// Client returns a client of a user other than the controller.
	Client() dynamic.Interface
	// MarkReady sets the status of an object to that of a ready object.
	MarkReady(ctx context.Context, kind *schema.Kind, namespace, name string) error
	// Settle waits until the controller has nothing left to do at this moment. Its
	// error says what keeps the controller busy.
	Settle(ctx context.Context) error
	// Objects returns all objects except those that every cluster has and the
	// controller's own objects.
	Objects(ctx context.Context) ([]*unstructured.Unstructured, error)
	// Events returns all Events so far.
	Events(ctx context.Context) ([]sim.Event, error)
}

// A Memory is a simulated Place, with control over time, failures and the
// controller.
type Memory interface {
	Place
	// Advance advances the time, runs everything at the time when it is due, and
	// settles.
	Advance(ctx context.Context, by time.Duration) error
	// Restart replaces the controller by a new one without its memory, and
	// settles.
	Restart(ctx context.Context) error
	// Reload replaces the rules of the controller while it runs, and settles.
	Reload(ctx context.Context, program *rules.Program) error
	// Fail makes requests of the controller fail.
	Fail(f sim.Failure)
	// Pending returns the failures that have not happened yet.
	Pending() []sim.Failure
	// Recover ends all failures.
	Recover()
	// Uncollected returns the last write of the garbage collector if it was rejected,
	// or nil.
	Uncollected() *sim.Write
	// Writes returns all writes of the controller so far.
	Writes() []sim.Write
}
