package world

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"

	"reconcel/engine"
	"reconcel/rules"
	"reconcel/sim"
)

// Options configure a World. Program and Kinds are required.
type Options struct {
	Program *rules.Program
	Kinds   *sim.Kinds
	Log     *slog.Logger // of the controller; default: nothing is logged
	// Namespaces are those that the controller watches; none stands for all.
	Namespaces []string
	// Events are those that the controller records; default: engine.EventsAll.
	Events engine.EventFilter
	// Coverage records which expressions ran. It may be nil.
	Coverage *rules.Coverage
}

// A World is a cluster in memory with a controller. It is for one goroutine.
type World struct {
	options Options
	cluster *sim.Cluster
	clock   *testclock.FakePassiveClock
	queue   *queue
	stepper *engine.Stepper
	client  dynamic.Interface // the controller's
	shown   int               // how many changes the controller has seen
}

// Controller is the client name of the controller.
const Controller = "reconcel"

// This ConfigMap is the inventory of the controller.
const (
	systemNamespace = "kube-system"
	inventory       = Controller + "-inventory"
)

// New returns an empty cluster in which a controller has just started.
func New(options Options) (*World, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	options.Events = cmp.Or(options.Events, engine.EventsAll)
	w := &World{options: options, clock: testclock.NewFakePassiveClock(time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC))}
	var err error
	if w.cluster, err = sim.New(sim.Options{Kinds: options.Kinds, Clock: w.clock}); err != nil {
		return nil, err
	}
	w.client = w.cluster.Client(Controller)
	return w, w.start(context.Background())
}

// Cluster returns the cluster, on which tests act like other clients.
func (w *World) Cluster() *sim.Cluster { return w.cluster }

// Now returns the time.
func (w *World) Now() time.Time { return w.clock.Now() }

// start starts a controller without any state.
func (w *World) start(ctx context.Context) error {
	w.queue = newQueue(w.clock)
	w.stepper = engine.NewStepper(engine.Dependencies{
		Client: w.client, Kinds: kinds{w.options.Kinds}, Events: w.cluster,
		Clock: w.clock, Queue: w.queue, Random: evenly, InFlight: 1, Coverage: w.options.Coverage,
	}, engine.Options{Log: w.options.Log, Namespace: systemNamespace, Name: Controller, Namespaces: w.options.Namespaces, Events: w.options.Events})
	w.shown = w.cluster.ChangeCount()
	return w.follow(ctx)
}

// follow activates the rules.
func (w *World) follow(ctx context.Context) error {
	now := engine.Snapshot{Objects: w.cluster.All(), Version: w.cluster.Version()}
	if err := w.stepper.Follow(ctx, w.options.Program, now); err != nil {
		return fmt.Errorf("the controller does not start: %w", err)
	}
	w.queue.sort() // A cache lists its objects in no order.
	return nil
}

// Reload replaces the rules while the controller runs, and settles.
func (w *World) Reload(ctx context.Context, program *rules.Program) error {
	if err := w.show(); err != nil {
		return err
	}
	w.options.Program = program
	if err := w.follow(ctx); err != nil {
		return err
	}
	return w.Settle(ctx)
}

// Restart replaces the controller by one without any state, and settles.
func (w *World) Restart(ctx context.Context) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	return w.Settle(ctx)
}

// Objects returns all objects, sorted by kind, namespace and name, except initial namespaces and the
// inventory.
func (w *World) Objects() []*unstructured.Unstructured {
	return slices.DeleteFunc(w.cluster.All(), func(u *unstructured.Unstructured) bool {
		gk := u.GroupVersionKind().GroupKind()
		return gk == (schema.GroupKind{Kind: "Namespace"}) && sim.IsInitial(u.GetName()) || isInventory(gk, u.GetNamespace(), u.GetName())
	})
}

// Writes returns all writes of the controller, except those of its inventory.
func (w *World) Writes() []sim.Write {
	return slices.DeleteFunc(w.cluster.Writes(), func(write sim.Write) bool {
		return write.By != Controller || isInventory(write.Kind.GroupKind(), write.Namespace, write.Name)
	})
}

func isInventory(gk schema.GroupKind, namespace, name string) bool {
	return gk == schema.GroupKind{Kind: "ConfigMap"} && namespace == systemNamespace && name == inventory
}
