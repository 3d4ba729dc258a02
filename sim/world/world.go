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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"

	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/plan"
	"reconcel/engine/preview"
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
	Events access.EventFilter
	// MaxDeletions is that of the controller; nil: its default.
	MaxDeletions *intstr.IntOrString
	// Retain and Retained are those of the controller, which asks when its rules change. They may be nil.
	Retain   func(context.Context, access.Remains)
	Retained func([]*rules.Program) bool
	// Coverage records which expressions ran. It may be nil.
	Coverage *rules.Coverage
	// Turn chooses which of n controllers works next. The last one writes, the others are dry
	// runs. Default: the first.
	Turn func(n int) int
}

// A World is a cluster in memory with a controller. It is for one goroutine.
type World struct {
	options Options
	cluster *sim.Cluster
	clock   *testclock.FakePassiveClock
	controller
	dryRuns []controller
	client  dynamic.Interface // the controller's
	kinds   discover.Kinds    // as the controller finds them
	shown   int               // how many changes the controllers have seen
}

// A controller is an engine with its queue.
type controller struct {
	queue   *Queue
	stepper *preview.Stepper
}

// Controller is the client name of the controller.
const Controller = "reconcel"

// These ConfigMaps are the inventory of the controller, and the text of its rules.
const (
	systemNamespace = "kube-system"
	inventory       = Controller + "-inventory"
	texts           = Controller + "-revisions"
)

// New returns an empty cluster in which a controller has just started.
func New(options Options) (*World, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Turn == nil {
		options.Turn = func(int) int { return 0 }
	}
	options.Events = cmp.Or(options.Events, access.EventsAll)
	w := &World{options: options, clock: testclock.NewFakePassiveClock(time.Date(2030, time.January, 1, 0, 0, 0, 0,
		time.UTC))}
	var err error
	if w.cluster, err = sim.New(sim.Options{Kinds: options.Kinds, Clock: w.clock}); err != nil {
		return nil, err
	}
	w.client, w.kinds = w.cluster.Client(Controller), kinds{options.Kinds}
	return w, w.start(context.Background())
}

// Cluster returns the cluster, on which tests act like other clients.
func (w *World) Cluster() *sim.Cluster { return w.cluster }

// Now returns the time.
func (w *World) Now() time.Time { return w.clock.Now() }

// start starts a controller without any state.
func (w *World) start(ctx context.Context) error {
	w.controller = w.newController(w.options.Coverage, nil)
	w.shown = w.cluster.ChangeCount()
	return w.follow(ctx, w.controller, w.options.Program)
}

func (w *World) newController(coverage *rules.Coverage, dry plan.DryRun) controller {
	q := NewQueue(w.clock)
	dependencies := engine.Dependencies{
		Client: w.client, Kinds: w.kinds, Events: w.cluster,
		Clock: w.clock, Queue: q, Random: evenly, InFlight: 1, Coverage: coverage,
	}
	options := access.Options{Log: w.options.Log, Namespace: systemNamespace, Name: Controller,
		Namespaces: w.options.Namespaces, Events: w.options.Events, MaxDeletions: w.options.MaxDeletions, DryRun: dry,
		Retain: w.options.Retain, Retained: w.options.Retained}
	return controller{q, preview.NewStepper(dependencies, options)}
}

// DryRun starts a dry run beside the controller.
func (w *World) DryRun(ctx context.Context, program *rules.Program, dry plan.DryRun) error {
	if err := w.show(); err != nil {
		return err
	}
	c := w.newController(nil, dry)
	w.dryRuns = append(w.dryRuns, c)
	return w.follow(ctx, c, program)
}

// ReloadDryRuns replaces the rules of all dry runs.
func (w *World) ReloadDryRuns(ctx context.Context, program *rules.Program) error {
	if err := w.show(); err != nil {
		return err
	}
	for _, c := range w.dryRuns {
		if err := w.follow(ctx, c, program); err != nil {
			return err
		}
	}
	return nil
}

// follow activates rules.
func (w *World) follow(ctx context.Context, c controller, program *rules.Program) error {
	now := engine.Snapshot{Objects: w.cluster.All(), Version: w.cluster.Version(),
		Numbers: w.options.Kinds.Set().NumberFields(program.UsedKinds())}
	if err := c.stepper.Follow(ctx, program, now); err != nil {
		return fmt.Errorf("the controller does not start: %w", err)
	}
	c.queue.sort() // A cache lists its objects in no order.
	return nil
}

// Reload replaces the rules while the controller runs, and settles.
func (w *World) Reload(ctx context.Context, program *rules.Program) error {
	if err := w.show(); err != nil {
		return err
	}
	w.options.Program = program
	if err := w.follow(ctx, w.controller, program); err != nil {
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
	return slices.DeleteFunc(w.cluster.All(), isOwn)
}

// isOwn reports whether every world has an object.
func isOwn(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	return gk == (schema.GroupKind{Kind: "Namespace"}) && sim.IsInitial(u.GetName()) ||
		isInventory(gk, u.GetNamespace(), u.GetName())
}

// Writes returns all writes of the controller, except those of its inventory.
func (w *World) Writes() []sim.Write {
	return slices.DeleteFunc(w.cluster.Writes(), func(write sim.Write) bool {
		return write.By != Controller || isInventory(write.Kind.GroupKind(), write.Namespace, write.Name)
	})
}

// Changes returns all changes of objects, except those of initial namespaces and the inventory.
func (w *World) Changes() []sim.Change {
	return slices.DeleteFunc(w.cluster.Changes(0), func(c sim.Change) bool { return isOwn(cmp.Or(c.New, c.Old)) })
}

func isInventory(gk schema.GroupKind, namespace, name string) bool {
	return gk == schema.GroupKind{Kind: "ConfigMap"} && namespace == systemNamespace && (name == inventory ||
		name == texts)
}
