package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/clock"

	"reconcel/engine/answer"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/leader"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// A Cluster sends the requests of an engine that belong to no reconciliation alone.
type Cluster struct{ *Shared }

// Resource returns a client that reads one kind in a namespace.
func (c *Cluster) Resource(k ident.Kind, namespace string) ReadOnly { return c.own(k, namespace) }

// own returns the client for the engine's own writes.
func (c *Cluster) own(k ident.Kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.Client.Resource(k.GVR)
	}
	return c.Client.Resource(k.GVR).Namespace(namespace)
}

// Orphaned returns what a program leaves behind, by the inventory.
func (c *Cluster) Orphaned(ctx context.Context, program *rules.Program) (inventory.Orphaned, error) {
	left, err := c.Inventory.Compare(ctx, program)
	c.NameServedVersions(ctx, left)
	return left, err
}

// NameServedVersions names kinds in a version that the API server serves, if there is one: the version in which a rule
// made objects may be gone.
func (c *Cluster) NameServedVersions(ctx context.Context, left inventory.Orphaned) {
	for _, kinds := range left.Kinds {
		for i, gvk := range kinds {
			if _, err := c.Kinds.Find(ctx, gvk); !discover.IsNoKind(err) {
				continue
			}
			if k, err := discover.AnyVersion(ctx, c.Kinds, gvk.GroupKind()); err == nil {
				kinds[i] = k.GVK
			}
		}
	}
}

// MostDeletions returns how many of its objects a rule may delete at once. The rule is nil if it is removed, and its
// last version is not known.
func (c *Cluster) MostDeletions(rule *rules.Rule, objects int) int {
	limit := *c.Options.MaxDeletions
	if rule != nil && rule.Rollout.MaxDeletions != nil {
		limit = *rule.Rollout.MaxDeletions
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, objects, false)
	if err != nil || limit.Type == intstr.String && most < plan.Spared {
		most = plan.Spared
	}
	return most
}

// Scope returns the namespaces that this engine watches.
func (c *Cluster) Scope() watch.Scope { return watch.Scope(c.Options.Namespaces) }

// RecoverPanic turns a panic into an error. The deferring goroutine must call it.
func (c *Cluster) RecoverPanic(req ident.Request, err *error) {
	if v := recover(); v != nil {
		c.Metrics.Panics.Inc()
		// The value may quote an object: only the stack is logged.
		c.Log.Error("panic", "object", req.String(), "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
		*err = errors.New("internal error, see the log")
	}
}

// NumberFields are the number fields of kinds, as far as their schemas are known.
func (c *Cluster) NumberFields() kindschema.NumberFields {
	if known := c.Numbers.Load(); known != nil {
		return *known
	}
	return nil
}

// OfOtherInstallation reports whether the object belongs to another installation that has not
// been taken over. Such objects are never deleted.
func (c *Cluster) OfOtherInstallation(o *watch.Object, takenOver []string) bool {
	mark := o.Installation()
	return mark != "" && mark != c.Installation && !slices.Contains(takenOver, mark)
}

// LeadershipOf reads the Lease of an installation, given as namespace/name.
func (c *Cluster) LeadershipOf(ctx context.Context, installation string) plan.Leadership {
	namespace, name, ok := strings.Cut(installation, "/")
	if !ok {
		return plan.Leadership{State: plan.LeaseUnknown, Says: "(which is not namespace/name)"}
	}
	ctx, cancel := context.WithTimeout(ctx, plan.WriteTimeout)
	defer cancel()
	lease, err := c.Client.Resource(leader.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case answer.IsAbsent(err):
		return plan.Leadership{State: plan.LeaseOver, Says: "which has no Lease"}
	case err != nil:
		return plan.Leadership{State: plan.LeaseUnknown, Says: fmt.Sprintf("whose Lease cannot be read (%v)", err)}
	}
	return plan.LeadershipIn(lease, time.Now())
}

// watchOf returns the watch of a kind of children for a primary, or nil.
func (c *Cluster) watchOf(owner ident.Request, k ident.Kind) *watch.Watch {
	pl := c.Plan.Load()
	if pl == nil || pl.Primaries[owner.Kind] == nil {
		return nil
	}
	return pl.Primaries[owner.Kind].Children[k.GVK]
}

// EachOf visits all objects of a kind in the watched namespaces.
func (c *Cluster) EachOf(ctx context.Context, k ident.Kind, visit func(*watch.Object)) error {
	return c.EachListed(ctx, k, metav1.ListOptions{}, watch.Primary, visit)
}

// EachListed visits the listed objects of a kind in the watched namespaces. An
// unreadable namespace does not affect the others.
func (c *Cluster) EachListed(ctx context.Context, k ident.Kind, options metav1.ListOptions, role watch.Role,
	visit func(*watch.Object)) error {
	if err := k.CheckScope(c.Options.Namespaces); err != nil {
		return err
	}
	var errs []error
	for _, namespace := range c.Scope().Namespaces() {
		page := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := c.Resource(k, namespace).List(ctx, options)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", k.GVK.Kind, err)
			}
			return list, nil
		})
		errs = append(errs, page.EachListItem(ctx, options, func(item runtime.Object) error {
			visit(watch.NewObject(item.(*unstructured.Unstructured), role))
			return nil
		}))
	}
	return errors.Join(errs...)
}

// EachPrimary visits all objects of a kind in any version. A kind that is gone has no
// objects.
func (c *Cluster) EachPrimary(ctx context.Context, gk schema.GroupKind,
	visit func(ident.Kind, *watch.Object)) error {
	if gk == rules.BundleKind.GroupKind() {
		return c.eachBundle(ctx, visit)
	}
	k, err := discover.AnyVersion(ctx, c.Kinds, gk)
	if gone, err := c.JudgeMissing(ctx, gk, err); gone || err != nil {
		return err
	}
	return c.EachOf(ctx, k, func(o *watch.Object) { visit(k, o) })
}

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

	// Retain is told what rules make and what is left of others: every few seconds while they are active, and before
	// that, where rules wait for it, unless Retained reports that they do not need it. Only a process that writes calls
	// Retain, and not more than once at a time. nil is told nothing.
	Retain   func(context.Context, Remains)
	Retained func([]*rules.Program) bool // sends no request; safe for concurrent use; nil: false

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
