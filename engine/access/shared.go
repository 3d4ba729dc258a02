package access

import (
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
	"reconcel/rules/syntax"
)

// Shared is what the parts of an engine and of a reconciliation have in common: the
// outside world, the settings and what is known of the cluster.
type Shared struct {
	Options  Options
	Log      *slog.Logger
	Client   dynamic.Interface
	Sender   watch.Sender // of patches
	Kinds    discover.Kinds
	Events   Recorder
	Clock    clock.PassiveClock
	Queue    workqueue.TypedRateLimitingInterface[ident.Request]
	Random   func() float64
	InFlight int
	Coverage *rules.Coverage
	DryRun   plan.DryRun // nil: this engine writes

	JudgeMissing plan.MissingJudge

	Activity     *Activity
	Started      time.Time
	Installation string // namespace/name, the mark on all objects that this engine applies

	Memories      Memories
	Metrics       *plan.Metrics
	Inventory     *inventory.Inventory
	Plan          atomic.Pointer[plan.Plan] // set before the first request is served
	Reloads       chan Reload
	SchemaChanges atomic.Int64 // number of schema changes of kinds that rules use
	Numbers       atomic.Pointer[kindschema.NumberFields]
}

// A Reload is a request to activate another program.
type Reload struct {
	Program *rules.Program
	Done    chan error
}

// A Trouble is the last reported reason why a primary is not ready.
type Trouble struct {
	Reason  string // "": none
	Message string
	Since   time.Time
	// Inherited means that an earlier process has sent the Event, as the status shows.
	Inherited bool
}

// RenderTimeout limits how long the loops of a rule may block a worker. The cost
// budget normally stops them in a tenth of that time, unless the machine is
// overloaded.
const RenderTimeout = 2 * time.Second

// A Subject is the primary of one reconciliation, with what is known of it and what has
// been noticed so far.
type Subject struct {
	*Shared
	Cluster   *Cluster
	Primary   *plan.PrimaryKind
	Cache     *watch.Cache
	Cached    bool // the cache showed the primary when the reconciliation began
	Req       ident.Request
	Self      *watch.Object
	Memory    *Memory
	Rendering *rules.Rendering
	Admitted  *plan.AdmissionResult
	Findings  *Findings // nil except in a Preview
	Trigger   string    // what changed since the last reconciliation
	Reapply   bool      // apply every child, even without drift
	Request   string    // to reconcile the primary now, see rules.RequestOf; "": none
	Requested bool      // this reconciliation answers the request

	Wanted    map[plan.ObjectKey]bool // the rendered objects, if there are many; see wants
	Later     *View                   // of the rules that a rollout brings; nil until LaterView
	bundles   []*View                 // of all rules for the cluster; nil until Bundles
	unread    map[*rules.Lookup]error // why the objects of a lookup are unknown
	Stale     bool                    // the cache is behind
	Confirmed bool                    // a live read has shown that the cached primary is up to date
	Gone      bool                    // the primary no longer exists
}

// MetadataVersion changes with the labels and annotations that others set on the primary. It is never empty.
func (s *Subject) MetadataVersion() string {
	annotations := s.Self.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return syntax.IsOwn(key) })
	return fmt.Sprint(s.Self.GetLabels(), annotations) // Sorted by key.
}

// Rehearses reports whether the reconciliation only shows what another one would change.
func (s *Subject) Rehearses() bool { return s.Findings != nil || s.DryRun != nil }

// Generation returns the value for observedGeneration, or 0 for a kind without
// the status subresource. For such a kind, each status write creates a new
// generation, and recording it would need another write, in an endless loop.
func (s *Subject) Generation() int64 {
	if !s.Cache.Kind().Status {
		return 0
	}
	return s.Self.GetGeneration()
}
