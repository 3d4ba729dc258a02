//go:build integration

package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/test/e2e"
	"reconcel/test/oracle"
	"reconcel/test/soak"
)

// canary is the name of an object of others that has nothing to do with the rules.
const canary = "canary"

// sequencesPerBatch share a process.
const sequencesPerBatch = 30

// sequences plays random sequences. Each batch has one process, so that all its sequences
// share the kills and the versions of the rules.
func (s *stage) sequences(t *testing.T) {
	if file := os.Getenv("RECONCEL_PLAN"); file != "" {
		s.sequenceBatch(t, 0, []sequencePlan{readSequence(t, file)})
		return
	}
	random := chance(t)
	batches, size, steps := 1, 8, 6
	if soak.Enabled() {
		batches, size, steps = 10, sequencesPerBatch, 15
	}
	for i := range batches {
		t.Run(fmt.Sprint(i), func(t *testing.T) { s.sequenceBatch(t, i, newSequences(random, size, steps)) })
	}
}

func readSequence(t *testing.T, file string) (p sequencePlan) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}

// newSequences returns the plans of a batch. They have the same kills and reloads.
func newSequences(random *rand.Rand, size, steps int) (plans []sequencePlan) {
	shared := newSequenceGenerator(random.Uint64())
	first, invalid := *shared.reload(0), false
	first.Invalid = false
	var common []sequenceStep
	for i := range steps {
		var c sequenceStep
		if shared.IntN(4) == 0 {
			c.Reload = shared.reload(i + 1)
			invalid = c.Reload.Invalid
		}
		if shared.IntN(3) == 0 && !invalid { // It does not start with invalid rules.
			c.KillAfter = 1 + shared.IntN(500)
		}
		common = append(common, c)
	}
	for range size {
		p := sequencePlan{Seed: random.Uint64(), Rules: first}
		g := newSequenceGenerator(p.Seed)
		for i, c := range common {
			var step sequenceStep
			if c.Reload != nil { // The children change with the rules.
				step = sequenceStep{Do: changes, Changes: []fieldChange{g.change(), g.change()}}
			} else {
				step = g.step()
			}
			restarts := c.KillAfter > 0 || i > 0 && common[i-1].KillAfter > 0 // It may still be starting.
			if restarts && reflect.DeepEqual(step.Merge, noMarks) {
				step.Merge = map[string]any{"metadata": map[string]any{"annotations": nil, "ownerReferences": nil}}
			}
			step.Reload, step.KillAfter = c.Reload, c.KillAfter
			p.Steps = append(p.Steps, step)
		}
		plans = append(plans, p)
	}
	return plans
}

// sequenceBatch plays plans side by side, one step of all at a time.
func (s *stage) sequenceBatch(t *testing.T, number int, plans []sequencePlan) {
	name := fmt.Sprintf("seq%d", number)
	w := s.world.Within(t)
	history := oracle.Observe(t, w.Client, observedResources...)
	model := newSequenceModel(t, name)
	control := s.newController(t, name, plans[0].Rules.text(name), again)
	var all []*sequence
	for _, p := range plans {
		q := &sequence{sequencePlan: p, world: w, model: model, namespace: w.CreateNamespace(name + "-"), rules: p.Rules}
		q.seen = selectSequence(history, name, q.namespace)
		q.primary = map[string]any{
			"apiVersion": "faults.reconcel.dev/v1", "kind": "Box", "spec": initialSpec(),
			"metadata": map[string]any{"name": "a", "labels": map[string]any{"made": "here"}, "annotations": map[string]any{"made": "here"}},
		}
		all = append(all, q)
	}
	all = playAll(t, all, func(ctx context.Context, q *sequence) error {
		theirs := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": canary, "labels": map[string]any{"reconcel.dev/rule": name}}}
		return errors.Join(q.create(ctx, theirs), q.create(ctx, q.primary), q.converges(ctx))
	})
	for i := range plans[0].Steps {
		var disturbed sync.WaitGroup
		disturbed.Go(func() {
			all = playAll(t, all, func(ctx context.Context, q *sequence) error { return q.play(ctx, q.Steps[i]) })
		})
		control.disturb(plans[0].Steps[i], name)
		disturbed.Wait()
		t.Logf("step %d of %d sequences ended", i, len(all))
	}
	for _, q := range all {
		q.leavesCanary(t)
	}
	judgeRest(t, all)
	if strings.Contains(control.process.Log(), "panic") {
		t.Error("the process panicked")
	}
	slices.SortFunc(all, func(a, b *sequence) int { return cmp.Compare(a.slowest.took, b.slowest.took) })
	t.Logf("%d of %d sequences held", len(all), len(plans))
	if len(all) > 0 {
		t.Logf("the slowest step of each: %v (median), %v (most)", all[len(all)/2].slowest, all[len(all)-1].slowest)
	}
}

// playAll does something with all sequences at the same time. It reports the failures,
// and returns the others.
func playAll(t *testing.T, all []*sequence, do func(context.Context, *sequence) error) (rest []*sequence) {
	t.Helper()
	failures := make([]error, len(all))
	var playing sync.WaitGroup
	for i, q := range all {
		playing.Go(func() { failures[i] = do(t.Context(), q) })
	}
	playing.Wait()
	for i, q := range all {
		if failures[i] == nil {
			rest = append(rest, q)
			continue
		}
		plan := q.sequencePlan
		plan.Steps = plan.Steps[:min(q.done+1, len(plan.Steps))]
		text, err := json.Marshal(plan)
		t.Errorf("RECONCEL_PLAN: %s\n%s: %v", text, q.namespace, errors.Join(failures[i], err))
	}
	return rest
}

// disturb reloads the rules, and kills the process.
func (c *controller) disturb(s sequenceStep, name string) {
	c.Helper()
	if s.Reload != nil {
		c.place(s.Reload.text(name))
	}
	if s.KillAfter > 0 {
		e2e.Rest(c.T, time.Duration(s.KillAfter)*time.Millisecond)
		c.process.Kill()
		c.process = c.start("restarted")
	}
}

// leavesCanary checks that the object of others is unchanged.
func (q *sequence) leavesCanary(t *testing.T) {
	t.Helper()
	u, err := q.world.ResourceIn(e2e.ConfigMap, q.namespace).Get(t.Context(), canary, metav1.GetOptions{})
	if err != nil {
		t.Errorf("%s: the object of others: %v", q.namespace, err)
		return
	}
	if len(u.GetManagedFields()) != 1 || len(u.GetLabels()) != 1 {
		t.Errorf("%s: the object of others has changed: %v", q.namespace, u.Object)
	}
}

// judgeRest checks that nothing changes at rest.
func judgeRest(t *testing.T, all []*sequence) {
	t.Helper()
	var before []map[oracle.Key]string
	for _, q := range all {
		before = append(before, q.seen.Versions())
	}
	e2e.Rest(t, 2*restFor)
	for i, q := range all {
		if now := q.seen.Versions(); !maps.Equal(before[i], now) {
			t.Errorf("%s changed at rest: %v, then %v", q.namespace, before[i], now)
		}
	}
}
