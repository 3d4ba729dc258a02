package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// feed is Stepper.feed. A kind that cannot be listed holds up only the rules that need it.
func (v *Preview) feed(ctx context.Context, w *watch.Watch) error {
	if known := v.unread[w.GVK]; known != nil && !apierrors.IsForbidden(known) { // Other namespaces may be allowed.
		w.Fail(known)
		return nil
	}
	s, listed := v.stepper, error(nil)
	each := v.listing(ctx, w.Role)
	err := s.feed(ctx, w, func(ctx context.Context, k Kind) watch.List {
		list := each(ctx, k)
		return func(visit func(*unstructured.Unstructured) error) (version string, err error) {
			version, listed = list(visit)
			return version, listed
		}
	})
	switch {
	case listed != nil && ctx.Err() == nil:
		w.Fail(listed)
	case err != nil:
		return err
	}
	if _, why := w.Cache(); why != nil && !discover.IsUnwatchable(why) {
		v.unread[w.GVK] = why
	}
	return nil
}

// An Unread kind is one that a Preview could not read. What rules do with it is not known.
type Unread struct {
	Kind  string
	Rules []string // that need it
	Err   error
}

// Error says why, and what is not known.
func (u Unread) Error() string {
	rule := "rule"
	if len(u.Rules) > 1 {
		rule = "rules"
	}
	return fmt.Sprintf(`%v; incomplete: kind %s of %s "%s"`, u.Err, u.Kind, rule, strings.Join(u.Rules, `", "`))
}

// Unwrap returns why the kind could not be read.
func (u Unread) Unwrap() error { return u.Err }

// Unread returns the kinds that could not be read, by name.
func (v *Preview) Unread() (all []Unread) {
	for gvk, err := range v.unread {
		u := Unread{Kind: gvk.Kind, Err: err}
		for _, pk := range v.stepper.engine.plan.Load().primaries {
			for _, r := range pk.Rules {
				if pk.needs(r, gvk) {
					u.Rules = append(u.Rules, r.Name)
				}
			}
		}
		if slices.Sort(u.Rules); len(u.Rules) > 0 {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b Unread) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Err.Error(), b.Err.Error()))
	})
	return all
}

// needs reports whether a rule is for a kind, reads it, or may have created objects of it.
func (pk *primaryKind) needs(r *rules.Rule, gvk schema.GroupVersionKind) bool {
	return pk.watch.GVK == gvk ||
		slices.ContainsFunc(pk.byRule[r], func(w *watch.Watch) bool { return w.GVK == gvk }) ||
		slices.ContainsFunc(r.Lookups, func(l *rules.Lookup) bool { return l.GVK == gvk })
}
