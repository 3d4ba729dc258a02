//go:build integration

package campaign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/oracle"
	"reconcel/test/soak"
)

// deletion is a way to delete a primary.
type deletion struct {
	Kind        string
	Propagation metav1.DeletionPropagation
	Stuck       bool // a child has a finalizer of others
	After       int  // the write that it follows; 0: when the primary is ready
	Again       bool // it is created again at once

	namespace string
	seen      *oracle.Selection
	once      sync.Once
	deleted   error
}

func (d *deletion) String() string {
	return fmt.Sprintf("%s %s, a child is stuck: %v, after write %d, created again: %v", d.Kind, d.Propagation, d.Stuck, d.After, d.Again)
}

// deletionCases returns the ways, in a random order.
func (s *stage) deletionCases(t *testing.T) (all []*deletion) {
	ways := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
	for _, kind := range []string{"Box", "Bin"} {
		for _, way := range ways {
			for _, stuck := range []bool{false, true} {
				all = append(all, &deletion{Kind: kind, Propagation: way, Stuck: stuck})
			}
		}
		for _, way := range ways[:2] {
			for after := range 8 {
				all = append(all, &deletion{Kind: kind, Propagation: way, After: after, Again: true}, &deletion{Kind: kind, Propagation: way, After: after + 1})
			}
		}
	}
	random := chance(t)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if !soak.Enabled() {
		all = all[:12]
	}
	return all
}

// deletionRun is deletions at work.
type deletionRun struct {
	world   *e2e.World
	control *controller

	mu     sync.Mutex
	writes map[string]int // by namespace
}

// deletions deletes primaries at every moment of their lives.
func (s *stage) deletions(t *testing.T) {
	cases := s.deletionCases(t)
	const name = "deletions"
	r := &deletionRun{world: s.world.Within(t), writes: map[string]int{}}
	r.control = s.newController(t, name, strings.ReplaceAll(deletionRules, "RULE", name), again)
	due := map[string]*deletion{}
	for _, d := range cases {
		d.namespace = r.world.CreateNamespace(name + "-")
		d.seen = s.history.Select(oracle.NewNames(nil), func(k oracle.Key) bool {
			return strings.Contains(k.Namespace+"/"+k.Name, d.namespace) && k.Name != "kube-root-ca.crt"
		})
		due[d.namespace] = d
	}
	r.control.proxy.OnWrite(func(w faultproxy.Write) bool {
		r.control.note(w)
		r.strike(t.Context(), w, due)
		return true
	})
	sideBySide(t, cases, func(ctx context.Context, d *deletion) error {
		return errors.Join(r.play(ctx, d), r.judge(d))
	})
	if strings.Contains(r.control.process.Log(), "panic") {
		t.Error("the process panicked")
	}
	t.Logf("%d deletions", len(cases))
}

// strike deletes the primary whose write has just been committed.
func (r *deletionRun) strike(ctx context.Context, w faultproxy.Write, due map[string]*deletion) {
	namespace := w.Namespace
	if namespace == "" {
		namespace = w.Name // of a Crate
	}
	d := due[namespace]
	if d == nil || !w.Committed {
		return
	}
	r.mu.Lock()
	r.writes[namespace]++
	now := r.writes[namespace] == d.After
	r.mu.Unlock()
	if now {
		d.once.Do(func() { d.deleted = r.delete(ctx, d) })
	}
}

func (r *deletionRun) delete(ctx context.Context, d *deletion) error {
	return r.world.ResourceIn(faultKinds[d.Kind], d.namespace).Delete(ctx, "a", metav1.DeleteOptions{PropagationPolicy: &d.Propagation})
}

func (r *deletionRun) create(ctx context.Context, d *deletion) (types.UID, error) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "faults.reconcel.dev/v1", "kind": d.Kind, "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"value": "one"},
	}}
	created, err := r.world.ResourceIn(faultKinds[d.Kind], d.namespace).Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return created.GetUID(), nil
}

// play creates a primary and deletes it.
func (r *deletionRun) play(ctx context.Context, d *deletion) error {
	first, err := r.create(ctx, d)
	if err != nil {
		return err
	}
	if d.After == 0 {
		if err := r.ready(ctx, d, first); err != nil {
			return err
		}
	}
	if d.Stuck {
		if err := r.finalizers(ctx, d, []any{"example.com/stuck"}); err != nil {
			return err
		}
	}
	if d.After > 0 { // A primary with few writes is deleted when it has made them all.
		err := await(ctx, "the deletion", func() error {
			if now := r.live(d); now != nil && now.GetDeletionTimestamp() == nil && now.GetUID() == first && e2e.Condition(now, "Ready", "True") != nil {
				return errors.New("it has not begun")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	d.once.Do(func() { d.deleted = r.delete(ctx, d) })
	if d.deleted != nil {
		return d.deleted
	}
	if d.Again {
		return r.again(ctx, d)
	}
	if d.Stuck && d.Propagation != metav1.DeletePropagationOrphan {
		if err := r.hangs(ctx, d); err != nil {
			return err
		}
	}
	if d.Stuck {
		if err := r.finalizers(ctx, d, nil); err != nil {
			return err
		}
	}
	return r.ends(ctx, d)
}

// again creates the primary again, and waits until the new one has all children.
func (r *deletionRun) again(ctx context.Context, d *deletion) (err error) {
	var second types.UID
	err = await(ctx, "the primary to be created again", func() error {
		second, err = r.create(ctx, d)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.ready(ctx, d, second); err != nil {
		return err
	}
	if lost := d.seen.Lost(second); len(lost) > 0 {
		return fmt.Errorf("the new primary has lost %v", lost)
	}
	return nil
}

// ready waits until a primary is ready.
func (r *deletionRun) ready(ctx context.Context, d *deletion, uid types.UID) error {
	return await(ctx, "the primary to be ready", func() error {
		u := r.live(d)
		if u == nil || u.GetUID() != uid {
			return errors.New("it does not exist")
		}
		return e2e.Condition(u, "Ready", "True")
	})
}

func (r *deletionRun) live(d *deletion) *unstructured.Unstructured {
	return d.seen.Live(oracle.Key{Kind: d.Kind, Namespace: d.namespace, Name: "a"})
}

// finalizers replaces the finalizers of a child.
func (r *deletionRun) finalizers(ctx context.Context, d *deletion, all []any) error {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"finalizers": all}}}
	body, err := u.MarshalJSON()
	if err != nil {
		body = []byte(`{"metadata":{"finalizers":null}}`)
	}
	_, err = r.world.ResourceIn(e2e.ConfigMap, d.namespace).Patch(ctx, "a-lower", types.MergePatchType, body, changeOptions)
	return err
}

// hangs waits until only the stuck child, and what waits for it, is left.
func (r *deletionRun) hangs(ctx context.Context, d *deletion) error {
	return await(ctx, "the stuck child to be the last one", func() error {
		lower := d.seen.Live(oracle.Key{Kind: "ConfigMap", Namespace: d.namespace, Name: "a-lower"})
		if lower == nil || lower.GetDeletionTimestamp() == nil {
			return errors.New("its deletion has not begun")
		}
		for key := range d.seen.Versions() {
			if key.Name != "a-lower" && key.Kind != d.Kind {
				return fmt.Errorf("%s exists", key)
			}
		}
		return nil
	})
}

// ends waits until nothing is left, apart from children that the garbage collector has
// released.
func (r *deletionRun) ends(ctx context.Context, d *deletion) error {
	released := 0
	if d.Kind == "Box" && d.Propagation == metav1.DeletePropagationOrphan {
		released = 3
	}
	return await(ctx, "nothing to be left", func() error {
		left := d.seen.Versions()
		if len(left) != released {
			return fmt.Errorf("there is %v", left)
		}
		for key := range left {
			if u := d.seen.Live(key); u != nil && len(u.GetOwnerReferences()) > 0 {
				return fmt.Errorf("%s has an owner", key)
			}
		}
		return nil
	})
}

// judge returns what the process must not have done.
func (r *deletionRun) judge(d *deletion) error {
	var found []error
	for _, late := range d.seen.LateBirths(time.Second) {
		found = append(found, errors.New(late))
	}
	births, deletes := d.seen.Run().Births, map[string]int{}
	for _, w := range r.control.writes(d.namespace) {
		if w.Method == http.MethodDelete {
			deletes[w.Name]++
		}
	}
	for name, n := range deletes {
		born := 0
		for key, times := range births {
			if strings.HasSuffix(key, "/"+name) || strings.HasSuffix(key, " "+name) {
				born += times
			}
		}
		if n > born {
			found = append(found, fmt.Errorf("%d DELETE for %d objects %s", n, born, name))
		}
	}
	if len(found) == 0 {
		return nil
	}
	var sent []string
	for _, w := range r.control.writes(d.namespace) {
		sent = append(sent, fmt.Sprintf("%s: %d", w, w.Code))
	}
	return fmt.Errorf("%w\nafter %s", errors.Join(found...), strings.Join(sent, "\n"))
}
