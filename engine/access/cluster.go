package access

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

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

// MostDeletions returns how many of its objects a rule may delete at once. The rule is nil if it is removed.
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
	return plan.LeadershipIn(lease, c.Clock.Now())
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
func (c *Cluster) EachOf(ctx context.Context, k ident.Kind, visit func(*watch.Object) error) error {
	return c.EachListed(ctx, k, metav1.ListOptions{}, watch.Primary, visit)
}

// EachListed visits the listed objects of a kind in the watched namespaces. An
// unreadable namespace does not affect the others.
func (c *Cluster) EachListed(ctx context.Context, k ident.Kind, options metav1.ListOptions, role watch.Role,
	visit func(*watch.Object) error) error {
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
			return visit(watch.NewObject(item.(*unstructured.Unstructured), role))
		}))
	}
	return errors.Join(errs...)
}

// EachPrimary visits all objects of a kind in any version. A kind that is gone has no
// objects.
func (c *Cluster) EachPrimary(ctx context.Context, gk schema.GroupKind,
	visit func(ident.Kind, *watch.Object) error) error {
	if gk == rules.BundleKind.GroupKind() {
		return c.eachBundle(ctx, visit)
	}
	k, err := discover.AnyVersion(ctx, c.Kinds, gk)
	if gone, err := c.JudgeMissing(ctx, gk, err); gone || err != nil {
		return err
	}
	return c.EachOf(ctx, k, func(o *watch.Object) error { return visit(k, o) })
}
