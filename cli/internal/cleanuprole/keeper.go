// Package cleanuprole writes the cleanup roles of an installation, which have the permissions to remove what rules have
// made. See deploy.CleanupNeeds for why there are such roles.
package cleanuprole

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/deploy"
	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/outcome"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// Options are the dependencies of a Keeper.
type Options struct {
	Client     dynamic.Interface // that of the engine: it writes only while the process leads
	Kinds      discover.Kinds
	Name       string   // of the installation
	Namespace  string   // of the installation
	Namespaces []string // the watched ones; none: all
	Log        *slog.Logger
}

// A Keeper writes the cleanup roles that exist: a ClusterRole, or a Role in each watched namespace, for what rules
// make; and a Role in the namespace of the installation for the ConfigMaps of bundles.
type Keeper struct {
	Options
	roles []*role
	kinds atomic.Pointer[kindschema.Set] // of the rules that were judged last; nil: not yet
	need  need
}

// New returns a Keeper that has read nothing.
func New(o Options) *Keeper {
	k := &Keeper{Options: o}
	for _, namespace := range o.Namespaces {
		k.roles = append(k.roles, &role{Keeper: k, namespace: namespace, watched: true})
	}
	if len(k.roles) == 0 {
		k.roles = []*role{{Keeper: k, watched: true}}
	}
	if !slices.Contains(o.Namespaces, o.Namespace) {
		k.roles = append(k.roles, &role{Keeper: k, namespace: o.Namespace})
	}
	return k
}

// Learn tells the schemas of the kinds of rules. It is safe for concurrent use.
func (k *Keeper) Learn(kinds *kindschema.Set) { k.kinds.Store(kinds) }

// A need has the permissions to remove what programs make, with what they were derived from.
type need struct {
	programs []*rules.Program
	kinds    *kindschema.Set
	made     deploy.Permits
	bundles  deploy.Permits  // for their ConfigMaps
	unknown  map[string]bool // groups with kinds of the programs that the schemas do not have
}

func (k *Keeper) needOf(programs []*rules.Program, kinds *kindschema.Set) need {
	n := need{programs, kinds, deploy.Permits{}, deploy.Permits{}, map[string]bool{}}
	for _, program := range programs {
		permits, unknown := deploy.CleanupNeeds(program, kinds)
		maps.Copy(n.made, permits)
		maps.Copy(n.bundles, deploy.BundleNeeds(k.Name, deploy.Bundles(program)))
		for _, gvk := range unknown {
			n.unknown[gvk.Group] = true
		}
	}
	return n
}

// Keeps reports whether the roles have what programs need, as far as it is known. It sends no request, and is safe for
// concurrent use.
func (k *Keeper) Keeps(programs []*rules.Program) bool {
	kinds := k.kinds.Load()
	if kinds == nil {
		return false
	}
	n := k.needOf(programs, kinds)
	return !slices.ContainsFunc(k.roles, func(r *role) bool {
		kept := r.kept.Load()
		return kept == nil || !kept.Contains(r.neededOf(n))
	})
}

// Keep brings the roles up to date, see access.Options.Retain. At rest, it sends no writes. What fails is tried again
// by a later call.
func (k *Keeper) Keep(ctx context.Context, r access.Remains) {
	kinds := k.kinds.Load()
	if kinds == nil {
		return
	}
	if k.need.kinds != kinds || !slices.Equal(k.need.programs, r.Programs) {
		k.need = k.needOf(r.Programs, kinds)
		for _, role := range k.roles {
			role.require(role.neededOf(k.need))
		}
	}
	for _, role := range k.roles {
		role.keep(ctx, r)
	}
}

const (
	// readEvery is how often the role is read at least: others may change it, or apply it later.
	readEvery = 30 * time.Second
	// retryEvery is how often permissions are tried again that the process does not hold.
	retryEvery = 10 * time.Second
)

// A role is the cleanup role in one namespace, or in the cluster. Its fields are used by Keep alone.
type role struct {
	*Keeper
	namespace string
	watched   bool           // it is for what rules make
	needed    deploy.Permits // by the programs

	permits deploy.Permits // as last read or written; nil: not known, or there is no role
	read    time.Time      // when it was read
	due     time.Time      // no request before
	refused bool           // the process did not hold all permissions that were to be written
	problem outcome.Problem

	// kept are the permissions that the role had when it was last read, and that no write has removed since; nil: not
	// known, or there is no role.
	kept atomic.Pointer[deploy.Permits]
}

// String names the role as commands do.
func (r *role) String() string {
	if r.namespace == "" {
		return "ClusterRole/" + deploy.CleanupName(r.Name)
	}
	return "Role/" + r.namespace + "/" + deploy.CleanupName(r.Name)
}

// client returns the client of roles of its scope.
func (r *role) client() dynamic.ResourceInterface {
	if r.namespace == "" {
		return r.Client.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterroles"))
	}
	return r.Client.Resource(rbacv1.SchemeGroupVersion.WithResource("roles")).Namespace(r.namespace)
}

// home reports whether the role is for the ConfigMaps of bundles.
func (r *role) home() bool { return r.namespace == r.Namespace }

// neededOf returns what the role has to have: for what programs make, and for the ConfigMaps of bundles.
func (r *role) neededOf(n need) deploy.Permits {
	needed := deploy.Permits{}
	if r.watched {
		maps.Copy(needed, n.made)
	}
	if r.home() {
		maps.Copy(needed, n.bundles)
	}
	return needed
}

// require sets what the programs need.
func (r *role) require(needed deploy.Permits) {
	if !maps.Equal(needed, r.needed) {
		r.due = time.Time{}
	}
	r.needed = needed
}

// leftOver returns the permissions for kinds that still have objects to remove, or may have.
func (r *role) leftOver(ctx context.Context, permits deploy.Permits, remains access.Remains) (deploy.Permits, error) {
	left, err := remains.Left(ctx)
	if err != nil {
		return nil, err
	}
	resources, unknown := map[schema.GroupResource]bool{}, maps.Clone(r.need.unknown)
	for gk := range left.Kinds {
		kind, err := discover.AnyVersion(ctx, r.Kinds, gk)
		if err != nil {
			unknown[gk.Group] = true // The kind may be back before its objects are gone.
			continue
		}
		resources[kind.GVR.GroupResource()] = true
	}
	bundles := deploy.BundleNeeds(r.Name, left.Bundles)
	kept := deploy.Permits{}
	for permit := range permits {
		made := permit.Name == "" && (unknown[permit.Group] || resources[permit.Of()])
		if r.watched && made || r.home() && bundles[permit] {
			kept[permit] = true
		}
	}
	return kept, nil
}

// keep brings the role up to date, unless it is or an attempt is not due.
func (r *role) keep(ctx context.Context, remains access.Remains) {
	now := time.Now()
	if now.Before(r.due) ||
		r.permits != nil && now.Sub(r.read) < readEvery && maps.Equal(r.permits, r.needed) {
		return
	}
	const mostTries = 3
	var err error
	for range mostTries {
		if err = r.renew(ctx, remains); !apierrors.IsConflict(err) {
			break
		}
	}
	if ctx.Err() == nil && r.problem.IsNews(err) {
		r.Log.Warn("cleanup role not updated, will retry", "object", r.String(), "error", err)
	}
}
