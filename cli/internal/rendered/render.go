package rendered

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/cluster"
	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Rendering is the result of the rules, with what was found in lookups. An entry of
// lookups that no expression has read is not in it.
type Rendering struct {
	rules.Rendering
	Lookups map[*rules.Lookup]Finding
}

// Render renders the rules from the objects of the cluster. It reads lookups now.
func (v *Live) Render(ctx context.Context) (*Rendering, error) {
	out := Render(v.Primary, v.Input(ctx))
	return out, v.Failed()
}

// Input returns what the rules read in the cluster. They read lookups when they need them.
func (v *Live) Input(ctx context.Context) rules.Input {
	in := rules.Input{Self: v.Self.Object, Now: time.Now(), Observed: v.observed, Owned: v.owned, Numbers: v.numbers}
	in.Lookup = func(l *rules.Lookup, q rules.Query) ([]map[string]any, error) { return v.lookup(ctx, l, q) }
	return in
}

// Failed returns why a lookup could not be read: a rendering of the input is not valid.
func (v *Live) Failed() error { return v.failed }

// Render renders rules from any input.
func Render(primary *rules.Primary, in rules.Input) *Rendering {
	out := &Rendering{Lookups: map[*rules.Lookup]Finding{}}
	lookup := in.Lookup
	in.Lookup = func(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
		found, err := lookup(l, q)
		out.note(l, q, len(found), err)
		return found, err
	}
	primary.Render(in, &out.Rendering)
	return out
}

// note records the result of a query. A lookup of names has several queries.
func (out *Rendering) note(l *rules.Lookup, q rules.Query, found int, err error) {
	one := Finding{State: Ready}
	switch {
	case err != nil:
		one = Finding{Unread, err.Error()}
	case found == 0 && q.Selector == nil:
		one = Finding{Missing, fmt.Sprintf("%s %s not found", l.GVK.Kind, strings.TrimPrefix(q.Namespace+"/"+q.Name, "/"))}
	case q.Selector != nil:
		one.Message = fmt.Sprintf("%d found", found)
	}
	if before, known := out.Lookups[l]; !known || Worse(before.State, one.State) != before.State {
		out.Lookups[l] = one
	}
}

func (v *Live) observed(id rules.Identity) rules.Live {
	if o := v.children[id]; o != nil && o.BelongsTo(v.owner) {
		return liveOf(o)
	}
	return rules.Live{}
}

func liveOf(o *watch.Object) rules.Live {
	return rules.Live{Object: o.Content(), Applied: o.Applied()}
}

func (v *Live) owned(rule *rules.Rule, c *rules.Child) (all []rules.Live, err error) {
	for id, o := range v.children {
		if id.GVK == c.GVK && o.Rule() == rule.Name && o.Child() == c.ID && o.BelongsTo(v.owner) {
			all = append(all, liveOf(o))
		}
	}
	if v.Unread[c.GVK] != nil {
		return all, rules.ErrUnwatched
	}
	return all, nil
}

// lookup answers a query of a rule. What cannot be read is unknown.
func (v *Live) lookup(ctx context.Context, l *rules.Lookup, q rules.Query) (found []map[string]any, err error) {
	k, err := v.cluster.Find(ctx, l.GVK)
	if discover.IsUnavailable(err) {
		return nil, unread{err}
	}
	if err != nil {
		v.failed = cmp.Or(v.failed, err)
		return nil, rules.ErrUnwatched
	}
	if k == nil {
		return nil, unread{discover.NoKindError{GVK: l.GVK}}
	}
	switch found, err = v.query(ctx, k, q); {
	case err != nil && ctx.Err() == nil:
		return nil, unread{err}
	case err != nil:
		v.failed = cmp.Or(v.failed, fmt.Errorf("lookup %q: %w", l.ID, err))
		return nil, rules.ErrUnwatched
	}
	slices.SortFunc(found, func(a, b map[string]any) int {
		x, y := unstructured.Unstructured{Object: a}, unstructured.Unstructured{Object: b}
		return cmp.Or(strings.Compare(x.GetNamespace(), y.GetNamespace()), strings.Compare(x.GetName(), y.GetName()))
	})
	return found, nil
}

func (v *Live) query(ctx context.Context, k *discover.Kind, q rules.Query) (found []map[string]any, err error) {
	namespace := q.Namespace
	if q.Everywhere {
		namespace = metav1.NamespaceAll
	}
	if q.Selector == nil {
		u, err := v.cluster.Resource(k, namespace).Get(ctx, q.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []map[string]any{u.Object}, nil
	}
	options := metav1.ListOptions{LabelSelector: q.Selector.String()}
	err = cluster.ForEach(ctx, v.cluster.Resource(k, namespace), options,
		func(u *unstructured.Unstructured) { found = append(found, u.Object) })
	return found, err
}

// unread says why a lookup is unknown. For the rules it is rules.ErrUnwatched.
type unread struct{ error }

// Is implements the interface of errors.Is.
func (unread) Is(target error) bool { return target == rules.ErrUnwatched }
