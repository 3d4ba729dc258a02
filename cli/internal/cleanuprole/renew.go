package cleanuprole

import (
	"context"
	"maps"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/cli/internal/cluster"
	"reconcel/deploy"
	"reconcel/engine/access"
	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
)

// renew reads the role, and writes it if it should have other permissions. The API server lets the process write only
// what it holds; the rest is tried again later.
func (r *role) renew(ctx context.Context, remains access.Remains) error {
	r.permits, r.due = nil, time.Time{}
	live, err := r.client().Get(ctx, deploy.CleanupName(r.Name), metav1.GetOptions{})
	if answer.IsAbsent(err) || outcome.IsForbidden(err) {
		r.due = time.Now().Add(readEvery)
	}
	if answer.IsAbsent(err) {
		r.kept.Store(nil)
		return nil // The role is optional: only a user creates it.
	}
	if err != nil {
		return err
	}
	var content rbacv1.ClusterRole // A Role has the same fields.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &content); err != nil {
		return err
	}
	there := deploy.PermitsIn(content.Rules)
	r.permits, r.read = there, time.Now()
	r.kept.Store(&there)
	stays, extra, missing := deploy.Permits{}, deploy.Permits{}, deploy.Permits{}
	for permit := range there {
		if r.needed[permit] {
			stays[permit] = true
		} else {
			extra[permit] = true
		}
	}
	for permit := range r.needed {
		if !there[permit] {
			missing[permit] = true
		}
	}
	if len(extra) > 0 {
		if extra, err = r.leftOver(ctx, extra, remains); err != nil {
			return err
		}
		maps.Copy(stays, extra)
	}
	if len(missing) == 0 {
		r.refused = false
		return r.write(ctx, live, there, stays)
	}
	if !r.refused {
		all := maps.Clone(stays)
		maps.Copy(all, missing)
		if err := r.write(ctx, live, there, all); !outcome.IsForbidden(err) {
			return err
		}
		r.refused = true
	}
	r.due = time.Now().Add(retryEvery)
	if err := r.addHeld(ctx, stays, missing); err != nil {
		return err
	}
	return r.write(ctx, live, there, stays)
}

// write writes the role in the state that was read, unless it has the permissions.
func (r *role) write(ctx context.Context, live *unstructured.Unstructured, there, wanted deploy.Permits) error {
	if maps.Equal(there, wanted) {
		return nil
	}
	var list []any
	for _, rule := range wanted.Rules() {
		entry, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&rule)
		if err != nil {
			return err
		}
		list = append(list, entry)
	}
	kept := maps.Clone(there)
	maps.DeleteFunc(kept, func(permit deploy.Permit, _ bool) bool { return !wanted[permit] })
	r.kept.Store(&kept)
	next := live.DeepCopy()
	next.Object["rules"] = list
	if _, err := r.client().Update(ctx, next, metav1.UpdateOptions{FieldManager: managedfields.Manager}); err != nil {
		return err
	}
	r.permits = wanted
	r.kept.Store(&wanted)
	r.Log.Debug("cleanup role updated", "object", r.String())
	return nil
}

// addHeld adds the permissions that the process holds.
func (r *role) addHeld(ctx context.Context, to, some deploy.Permits) error {
	for permit := range some {
		held, err := cluster.Holds(ctx, r.Client, permit, r.namespace)
		if err != nil {
			return err
		}
		if held {
			to[permit] = true
		}
	}
	return nil
}
