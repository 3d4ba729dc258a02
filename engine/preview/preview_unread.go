package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/watch"
)

// feed is Stepper.feed. A kind that cannot be listed holds up only the rules that need it.
func (v *Preview) feed(ctx context.Context, w *watch.Watch) error {
	if known := v.unread[w.GVK]; known != nil && !apierrors.IsForbidden(known) { // Other namespaces may be allowed.
		w.Fail(known)
		return nil
	}
	var listed error
	err := v.stepper.feed(ctx, w, func(ctx context.Context, k ident.Kind) watch.List {
		return func(visit func(*unstructured.Unstructured) error) (version string, err error) {
			listed = v.list(ctx, w.Role, k, visit)
			return "", listed
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
		for _, pk := range v.stepper.engine.Plan.Load().Primaries {
			for _, r := range pk.Rules {
				if pk.Needs(r, gvk) {
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
