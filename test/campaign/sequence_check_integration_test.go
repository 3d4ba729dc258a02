//go:build integration

package campaign

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/test/e2e"
	"reconcel/test/oracle"
)

// saw waits until the observer has seen a version.
func (q *sequence) saw(ctx context.Context, u *unstructured.Unstructured) error {
	return await(ctx, "the observer to see "+u.GetName(), func() error {
		if !q.seen.Saw(keyOf(u), u.GetResourceVersion()) {
			return errors.New("it has not come")
		}
		return nil
	})
}

// converges waits until the state is that of the model.
func (q *sequence) converges(ctx context.Context) error {
	want, err := q.model.state(ctx, q.rules, q.primary)
	if err != nil {
		return err
	}
	return await(ctx, "the state of the model", func() error {
		if now := q.seen.State(); !reflect.DeepEqual(want, now) {
			return fmt.Errorf("(-model +cluster):\n%s", cmp.Diff(want, now))
		}
		return nil
	})
}

// reports waits until the primary reports a condition about its current generation.
func (q *sequence) reports(ctx context.Context, conditionType, status, reason string) error {
	return await(ctx, conditionType+" "+reason, func() error {
		u := q.seen.Live(oracle.Key{Kind: "Box", Namespace: q.namespace, Name: "a"})
		if err := e2e.Condition(u, conditionType, status); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, entry := range conditions {
			c := entry.(map[string]any)
			if c["type"] == conditionType && (c["reason"] != reason || c["observedGeneration"] != u.GetGeneration()) {
				return fmt.Errorf("%v, the generation is %d", c, u.GetGeneration())
			}
		}
		return nil
	})
}

// children returns the children as canonical texts by masked key.
func (q *sequence) children() map[string][]string {
	state := q.seen.State()
	delete(state, "Box NAMESPACE/a")
	return state
}

func sameObjects(before, after map[string][]string) error {
	if diff := cmp.Diff(before, after); diff != "" {
		return fmt.Errorf("(-before +after):\n%s", diff)
	}
	return nil
}

// census is the objects that exist, and how many have been created so far.
type census struct {
	uids   map[string][]types.UID // by name, those with generated names under one
	births int
}

func (q *sequence) census() census {
	c := census{uids: map[string][]types.UID{}}
	for key := range q.seen.Versions() {
		if live := q.seen.Live(key); live != nil {
			name := key.Kind + " " + key.Name
			if strings.HasPrefix(key.Name, "a-copy-") {
				name = key.Kind + " a-copy-"
			}
			c.uids[name] = append(c.uids[name], live.GetUID())
		}
	}
	for _, n := range q.seen.Run().Births {
		c.births += n
	}
	return c
}

// compare returns an error if a step has created more objects than it had to.
func (c census) compare(before census, s sequenceStep) error {
	if s.Do == rebirth || len(s.Changes) > 1 {
		return nil // Everything is new, or objects came and went.
	}
	created := 0
	for name, now := range c.uids {
		past := before.uids[name]
		added := slices.DeleteFunc(slices.Clone(now), func(uid types.UID) bool { return slices.Contains(past, uid) })
		created += len(added)
		if len(added) > max(0, len(now)-len(past)) && !s.replaces(name) {
			return fmt.Errorf("%s was deleted and created again", name)
		}
	}
	if s.Do == adoption || s.Do == collision {
		return nil // The test itself has created objects.
	}
	if extra := c.births - before.births - created; extra > 0 {
		return fmt.Errorf("%d objects were created and deleted in between", extra)
	}
	return nil
}

// replaces reports whether the step replaces an object.
func (s sequenceStep) replaces(name string) bool {
	switch s.Do {
	case removal:
		return strings.Contains(name, " a-"+s.Object)
	case adoption, collision:
		return strings.HasSuffix(name, " a-"+s.Changes[0].Path[1])
	case changes, pause:
		return strings.HasSuffix(name, " a-frozen")
	default:
		return false
	}
}
