package engine

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/access"
	"reconcel/engine/admit"
	"reconcel/engine/answer"
	"reconcel/engine/cleanup"
	"reconcel/engine/discover"
	"reconcel/engine/events"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/managedfields"
	"reconcel/engine/plan"
	"reconcel/engine/queue"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Dependencies are the outside world of an engine. New uses a process and a real
// cluster; a Stepper uses simulated ones, so that each step is repeatable.
type Dependencies struct {
	Client dynamic.Interface
	Sender watch.Sender // of the same cluster; nil: Client sends all writes
	Kinds  discover.Kinds
	Events access.EventRecorder
	Clock  clock.PassiveClock
	Queue  workqueue.TypedRateLimitingInterface[ident.Request]
	// Random returns numbers in [0,1) that spread delays.
	Random func() float64
	// InFlight is the maximum number of parallel requests of one reconciliation.
	InFlight int
	// Coverage records which expressions ran; it may be nil.
	Coverage *rules.Coverage
}

// clients are the clients of an engine for one cluster. They share one transport of client-go.
type clients struct {
	dynamic   dynamic.Interface
	lists     rest.Interface // for lists, watches and patches: what they read is decoded as far as rules read it
	discovery *discovery.DiscoveryClient
	events    events.Client
}

// discoveryTimeout limits a request of discovery. It is client-go's own default, which a client with
// a given transport does not have.
const discoveryTimeout = 32 * time.Second

// connect returns the clients for a cluster. The wrappers are around client-go's transport with all
// of its own, the first one innermost.
func connect(config *rest.Config, log *slog.Logger, wrappers ...transport.WrapperFunc) (clients, error) {
	config = watch.LimitSilence(access.Impersonating(config), log)
	config.Wrap(answer.RejectGateway404)
	// As in Kubernetes' own controllers: inside a cluster, compression takes more CPU of both sides
	// than it saves of the network. Since 1.37, the API server compresses each event of such a watch.
	config.DisableCompression = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return clients{}, err
	}
	for _, wrap := range wrappers {
		client.Transport = wrap(client.Transport)
	}
	objects := dynamic.ConfigFor(config)
	objects.APIPath = "/" // Each request has an absolute path.
	lists, err := rest.UnversionedRESTClientForConfigAndClient(objects, client)
	if err != nil {
		return clients{}, err
	}
	c := clients{dynamic: dynamic.New(lists), lists: lists}
	limited := &http.Client{Transport: client.Transport, Timeout: discoveryTimeout}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, limited); err != nil {
		return clients{}, err
	}
	c.events, err = eventsclient.NewForConfigAndClient(config, client)
	return c, err
}

// inCluster returns the dependencies for a real cluster, and the writer of Events.
func inCluster(c clients, options access.Options) (Dependencies, *events.Digest) {
	digest := events.NewDigest(events.NewBroadcaster(c.events, options.Clock, options.Log, options.Metrics))
	const inFlight = 16
	return Dependencies{
		Client: c.dynamic, Sender: watch.Direct{Client: c.lists}, Kinds: discover.NewKinds(c.discovery), Events: digest,
		Clock: options.Clock, Queue: queue.NewQueue(options.Clock, plan.NewQueueMetrics(options.Metrics)),
		Random: rand.Float64, InFlight: inFlight,
	}, digest
}

// sender returns the sender of patches whose answers the engine reads.
func (s Dependencies) sender() watch.Sender {
	if s.Sender == nil {
		s.Sender = watch.Dynamic{Client: s.Client}
	}
	return access.MovingSender{Sender: s.Sender, Client: s.Client}
}

// NewEngine returns an engine that runs nothing yet.
func NewEngine(s Dependencies, options access.Options, program *rules.Program) *Engine {
	dry := options.DryRun
	if dry != nil {
		s.Client, s.Sender, s.Events = dry.Client(s.Client), nil, reconcile.Untold{}
	}
	of := &access.Shared{
		DryRun:  dry,
		Options: options, Log: options.Log,
		Client: s.Client, Sender: s.sender(), Kinds: s.Kinds,
		Events: access.Recorder{EventRecorder: options.Events.Of(s.Events)}, Clock: s.Clock, Queue: s.Queue,
		Random: s.Random, InFlight: s.InFlight, Coverage: s.Coverage,
		Activity: access.NewActivity(options.Log), Started: s.Clock.Now(),
		Installation: options.Namespace + "/" + options.Name,
		Memories:     access.Memories{Of: map[ident.Request]*access.Memory{}},
		JudgeMissing: plan.JudgeByTime(s.Clock),
		Inventory: inventory.New(s.Client, inventory.Options{
			Namespace: options.Namespace, Installation: options.Name, FieldManager: managedfields.Manager,
			Source: options.Source, ConfirmRemoval: options.ConfirmRemoval, DryRun: dry != nil,
		}),
	}
	e := connectParts(of)
	e.program = program
	e.Metrics = plan.NewMetrics(options.Metrics, e.Queue.Len)
	if dry == nil {
		options.Metrics.MustRegister(e.Metrics.Writes, e.Metrics.Idle)
	} else {
		options.Metrics.MustRegister(dry)
	}
	options.Metrics.MustRegister(plan.Census{Plan: e.Plan.Load})
	e.say("starting")
	return e
}

// connectParts returns an engine whose parts know each other.
func connectParts(of *access.Shared) *Engine {
	e := &Engine{Shared: of, Cluster: &access.Cluster{Shared: of}}
	e.Router = &queue.Router{Shared: of, Cluster: e.Cluster}
	e.Reconciler = &reconcile.Reconciler{Shared: of, Cluster: e.Cluster}
	e.Workers = &reconcile.Workers{Shared: of, Cluster: e.Cluster, Reconciler: e.Reconciler}
	e.Admission = &admit.Admission{Shared: of, Cluster: e.Cluster, Router: e.Router}
	e.Cleanup = &cleanup.Cleanup{Shared: of, Cluster: e.Cluster, Router: e.Router, Reconciler: e.Reconciler}
	e.Rollouts = &admit.Rollouts{Shared: of, Cluster: e.Cluster}
	return e
}

// newWatcher returns the watcher of an engine for a cluster.
func newWatcher(c clients, e *Engine) (*watch.Watcher, error) {
	waiter, err := discover.NewWaiter(c.discovery)
	if err != nil {
		return nil, err
	}
	return &watch.Watcher{Client: c.lists, Kinds: e.Kinds, Waiter: waiter, Discovery: c.discovery,
		Scope: e.Cluster.Scope(), Log: e.Log}, nil
}
