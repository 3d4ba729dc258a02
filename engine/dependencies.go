package engine

import (
	"math/rand/v2"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
	"reconcel/engine/events"
	"reconcel/engine/inventory"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Dependencies are all that an engine has to do with. For New they are those of
// a process and a real cluster; a Stepper lives in others, where each step is
// repeatable.
type Dependencies struct {
	Client dynamic.Interface
	Kinds  discover.Kinds
	Events EventRecorder
	Clock  clock.PassiveClock
	Queue  workqueue.TypedRateLimitingInterface[Request]
	// Random returns numbers in [0,1) by which delays are spread.
	Random func() float64
	// InFlight is how many requests of one pass are under way at most.
	InFlight int
	// Coverage notes which expressions ran; nil notes nothing.
	Coverage *rules.Coverage
}

// inCluster returns the surroundings of a process that works on a real cluster,
// and what writes its Events.
func inCluster(config *rest.Config, options Options) (Dependencies, *events.Broadcaster, error) {
	client, err := dynamic.NewForConfig(impersonating(config))
	if err != nil {
		return Dependencies{}, nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return Dependencies{}, nil, err
	}
	b, err := events.NewBroadcaster(config, options.Log, options.Metrics)
	if err != nil {
		return Dependencies{}, nil, err
	}
	const inFlight = 16
	return Dependencies{
		Client: client, Kinds: discover.NewKinds(d), Events: b, Clock: clock.RealClock{},
		Queue: newQueue(newQueueMetrics(options.Metrics)), Random: rand.Float64, InFlight: inFlight,
	}, b, nil
}

// newEngine makes an engine of which nothing runs yet.
func newEngine(s Dependencies, options Options, program *rules.Program) *Engine {
	e := &Engine{
		options: options, program: program, log: options.Log,
		client: s.Client, kinds: s.Kinds, events: recorder{s.Events}, clock: s.Clock, queue: s.Queue,
		random: s.Random, inFlight: s.InFlight, coverage: s.Coverage,
		activity: newActivity(options.Log), started: s.Clock.Now(),
		installation: options.Namespace + "/" + options.Name,
		memories:     memories{of: map[Request]*memory{}},
		inventory: inventory.New(s.Client, inventory.Options{
			Namespace: options.Namespace, Installation: options.Name, FieldManager: managedfields.Manager,
			Source: options.Source, ConfirmRemoval: options.ConfirmRemoval,
		}),
	}
	e.metrics = newMetrics(options.Metrics, e.queue.Len)
	options.Metrics.MustRegister(census{e.plan.Load})
	e.say("starting")
	return e
}

// newWatcher returns what runs the watches of an engine on the cluster of a
// configuration.
func newWatcher(config *rest.Config, e *Engine) (*watch.Watcher, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	waiter, err := discover.NewWaiter(d)
	if err != nil {
		return nil, err
	}
	return &watch.Watcher{Client: e.client, Kinds: e.kinds, Waiter: waiter, Discovery: d, Scope: e.scope(), Log: e.log}, nil
}
