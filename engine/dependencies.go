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

// Dependencies are the outside world of an engine. New uses a process and a real
// cluster; a Stepper uses simulated ones, so that each step is repeatable.
type Dependencies struct {
	Client dynamic.Interface
	// Direct sends writes to the cluster of Client with less work; it may be nil.
	Direct *watch.Client
	Kinds  discover.Kinds
	Events EventRecorder
	Clock  clock.PassiveClock
	Queue  workqueue.TypedRateLimitingInterface[Request]
	// Random returns numbers in [0,1) that spread delays.
	Random func() float64
	// InFlight is the maximum number of parallel requests of one reconciliation.
	InFlight int
	// Coverage records which expressions ran; it may be nil.
	Coverage *rules.Coverage
}

// newClient returns the client for objects of all kinds.
func newClient(config *rest.Config, options Options) (*watch.Client, error) {
	return watch.NewClient(watch.LimitSilence(impersonating(config), options.Log))
}

// inCluster returns the dependencies for a real cluster, and the writer of Events. Objects
// are requested through client.
func inCluster(config *rest.Config, client *watch.Client, options Options) (Dependencies, *events.Digest, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return Dependencies{}, nil, err
	}
	b, err := events.NewBroadcaster(config, options.Log, options.Metrics)
	if err != nil {
		return Dependencies{}, nil, err
	}
	digest := events.NewDigest(b)
	const inFlight = 16
	return Dependencies{
		Client: dynamic.New(client), Direct: client, Kinds: discover.NewKinds(d), Events: digest, Clock: clock.RealClock{},
		Queue: newQueue(newQueueMetrics(options.Metrics)), Random: rand.Float64, InFlight: inFlight,
	}, digest, nil
}

// newEngine returns an engine that runs nothing yet.
func newEngine(s Dependencies, options Options, program *rules.Program) *Engine {
	pretending := s.pretend(options.Shadow)
	e := &Engine{
		shadow:  pretending,
		options: options, program: program, log: options.Log,
		client: s.Client, direct: s.Direct, kinds: s.Kinds, events: recorder{options.Events.of(s.Events)}, clock: s.Clock, queue: s.Queue,
		random: s.Random, inFlight: s.InFlight, coverage: s.Coverage,
		activity: newActivity(activityLog(options)), started: s.Clock.Now(),
		installation: options.Namespace + "/" + options.Name,
		memories:     memories{of: map[Request]*memory{}},
		judgeMissing: judgeByTime(s.Clock),
		inventory: inventory.New(s.Client, inventory.Options{
			Namespace: options.Namespace, Installation: options.Name, FieldManager: managedfields.Manager,
			Source: options.Source, ConfirmRemoval: options.ConfirmRemoval, Shadow: options.Shadow != nil,
		}),
	}
	e.metrics = newMetrics(options.Metrics, e.queue.Len)
	if pretending == nil {
		options.Metrics.MustRegister(e.metrics.writes, e.metrics.idle)
	} else {
		options.Metrics.MustRegister(pretending.ledger)
	}
	options.Metrics.MustRegister(census{e.plan.Load})
	e.say("starting")
	return e
}

// newWatcher returns the watcher of an engine for a cluster.
func newWatcher(config *rest.Config, client rest.Interface, e *Engine) (*watch.Watcher, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	waiter, err := discover.NewWaiter(d)
	if err != nil {
		return nil, err
	}
	return &watch.Watcher{Client: client, Kinds: e.kinds, Waiter: waiter, Discovery: d, Scope: e.scope(), Log: e.log}, nil
}
