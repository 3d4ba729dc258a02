package access

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"reconcel/engine/leader"
	"reconcel/engine/plan"
	"reconcel/rules"
)

// Options are the settings of an Engine. Config is required. Every other field
// has a usable zero value.
type Options struct {
	Config *rest.Config
	Log    *slog.Logger // default: slog.Default()

	// Namespace is where the engine keeps its own objects, and Name is the base
	// of their names: the inventory is the ConfigMap inventory.Name(Name).
	// Defaults: "default" and "reconcel".
	Namespace string
	Name      string

	// Namespaces are the watched namespaces; empty means all. If it is set, the
	// engine sends no cluster-wide requests: it cannot watch cluster-scoped
	// kinds, and reads and writes nothing in other namespaces.
	Namespaces []string

	Leadership *leader.Options // nil: this is the only process

	// Source says where the rules come from. The objects of a removed rule are
	// deleted only by a process with the same source as the last process that had
	// the rule. A process with another source never had the rule, so the rule
	// cannot have been removed there.
	Source string
	// ConfirmRemoval names removed rules whose objects are deleted regardless of
	// the source.
	ConfirmRemoval []string
	// TakeOver names installations, each as namespace/name. This installation
	// takes over their objects once they have stopped.
	TakeOver []string
	// RemovalGrace is the time between the announcement that a removed rule's
	// objects will be deleted and their deletion; default 30 s.
	RemovalGrace time.Duration

	// MaxDeletions is how many objects a changed rule without a limit of its own may delete or
	// replace at once: a number, or a percentage of its objects, of which 10 are always
	// allowed. Default: 50%.
	MaxDeletions *intstr.IntOrString

	// Approve returns the program that runs: that of New, or another one if that is invalid. The
	// engine changes nothing before, but reads meanwhile what it will need. An error ends Run,
	// which returns it. nil approves the program of New.
	Approve func(context.Context) (*rules.Program, error)

	DryRun plan.DryRun // nil: this process writes when it leads

	Workers      int           // primaries reconciled at the same time; default 16
	ReapplyEvery time.Duration // how often a converged child is applied again; 0: never

	Events EventFilter // default: EventsChanges

	Metrics prometheus.Registerer // default: a new registry

	// Clock is that of the cluster; default: the time of the machine. Rules read it, Events have its time, and
	// reconciliations are due by it. Deadlines of requests and the Lease stay with the time of the machine.
	Clock Clock
}

// A Clock tells the time, and calls a function later.
type Clock interface {
	clock.PassiveClock
	AfterFunc(d time.Duration, f func()) clock.Timer
}

// WithDefaults returns the options with the defaults of those that are not set.
func (o Options) WithDefaults() Options {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if o.Name == "" {
		o.Name = "reconcel"
	}
	if o.RemovalGrace <= 0 {
		o.RemovalGrace = 30 * time.Second
	}
	if o.MaxDeletions == nil {
		o.MaxDeletions = new(intstr.FromString("50%"))
	}
	if o.Workers <= 0 {
		o.Workers = 16
	}
	if o.Events == "" {
		o.Events = EventsChanges
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}
