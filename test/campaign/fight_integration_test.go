//go:build integration

package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// fightRules give each Box a ConfigMap of its name, and some more.
const fightRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: fight
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}"}
      data: {value: "${self.spec.value}"}
  - id: more
    forEach: [{name: i, in: "lists.range(self.spec.more)"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${string(i)}"}}
`

// hostile is a writer that undoes what reconcel has written, again and again.
type hostile struct {
	name  string // of its Box, and its field manager
	every time.Duration
	says  string // what the condition says of it
	write func(ctx context.Context, configs dynamic.ResourceInterface, name string, i int) error
}

var hostiles = []hostile{
	{"patches", 10 * time.Millisecond, `"patches" changed data.value`, func(ctx context.Context, configs dynamic.ResourceInterface, name string, i int) error {
		_, err := configs.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"data":{"value":"%d"}}`, i), metav1.PatchOptions{FieldManager: name})
		return err
	}},
	{"applies", 50 * time.Millisecond, `"applies" changed data.value`, func(ctx context.Context, configs dynamic.ResourceInterface, name string, i int) error {
		_, err := configs.Apply(ctx, name, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"value": fmt.Sprint(i)},
		}}, metav1.ApplyOptions{FieldManager: name, Force: true})
		return err
	}},
	{"updates", 50 * time.Millisecond, `"updates" changed data.value`, func(ctx context.Context, configs dynamic.ResourceInterface, name string, i int) error {
		u, err := configs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		u.Object["data"] = map[string]any{"value": fmt.Sprint(i)}
		u.SetManagedFields(nil)
		_, err = configs.Update(ctx, u, metav1.UpdateOptions{FieldManager: name})
		return err
	}},
	{"disowns", 50 * time.Millisecond, "metadata.ownerReferences", func(ctx context.Context, configs dynamic.ResourceInterface, name string, _ int) error {
		_, err := configs.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`), metav1.PatchOptions{FieldManager: name})
		return err
	}},
	{"unlabels", 50 * time.Millisecond, "metadata.labels", func(ctx context.Context, configs dynamic.ResourceInterface, name string, _ int) error {
		_, err := configs.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{FieldManager: name})
		return err
	}},
	{"deletes", 50 * time.Millisecond, "another writer deleted it", func(ctx context.Context, configs dynamic.ResourceInterface, name string, _ int) error {
		return configs.Delete(ctx, name, metav1.DeleteOptions{})
	}},
}

const (
	// maxFightWrites is how often reconcel may write a Box and its child in a minute of a
	// fight.
	maxFightWrites = 30
	// maxPeace is how soon the child must be restored after a fight.
	maxPeace = time.Minute
)

// TestFight has a hostile writer for each of some Boxes, for a minute. TestSlowingDown of
// engine has the samples of make test-cluster.
func TestFight(t *testing.T) {
	if !soak.Enabled() {
		t.Skip("it takes two minutes")
	}
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Without: []string{devcluster.Kwok, devcluster.Scheduler}})
	w := e2e.In(t, cluster, "default")
	w.CRD(faultCRD("Box", "boxes", "Namespaced"))
	p := start(t, e2e.Build(t), "reconcel", "-f", write(t, filepath.Join(t.TempDir(), "rules.yaml"), fightRules), "--kubeconfig", cluster.UserKubeconfig(t, e2e.User),
		"--namespace", "default", "--listen", "off")
	p.Runs()
	// Many children at once are no conflict loop.
	w.Create(`{apiVersion: faults.reconcel.dev/v1, kind: Box, metadata: {name: bystander}, spec: {value: a, more: 200}}`)
	for _, h := range hostiles {
		w.Create(fmt.Sprintf(`{apiVersion: faults.reconcel.dev/v1, kind: Box, metadata: {name: %s}, spec: {value: ours, more: 0}}`, h.name))
		w.Is(faultKinds["Box"], h.name, "Ready", "True")
	}
	w.Is(faultKinds["Box"], "bystander", "Ready", "True")

	since := time.Now()
	stop := attack(w)
	for _, h := range hostiles {
		e2e.Eventually(t, h.name+" to be named", time.Minute, func() error { return contested(w, h) })
	}
	named := time.Now()
	w.Patch(faultKinds["Box"], "bystander", `{"spec":{"value":"b"}}`)
	if took := w.Has(e2e.ConfigMap, "bystander", map[string]any{"data.value": "b"}); took > 5*time.Second {
		t.Errorf("the fights delayed another Box by %s", took)
	}
	w.Rest(time.Until(since.Add(time.Minute)))
	attacks := stop()
	for _, h := range hostiles {
		h.judge(w, since, named, attacks[h.name])
	}
	ended := time.Now()
	for _, h := range hostiles {
		w.Has(e2e.ConfigMap, h.name, map[string]any{"data.value": "ours"})
		e2e.Eventually(t, h.name+" to have its owner and labels", maxPeace, func() error {
			if u := w.Get(e2e.ConfigMap, h.name); u == nil || len(u.GetOwnerReferences()) == 0 || len(u.GetLabels()) == 0 {
				return errors.New("it has not")
			}
			return nil
		})
	}
	if took := time.Since(ended); took > maxPeace {
		t.Errorf("the last child was restored %s after the fight, want %s", took, maxPeace)
	}
	for _, h := range hostiles {
		w.Is(faultKinds["Box"], h.name, "Ready", "True")
	}
	t.Logf("all ready %s after the fight", time.Since(ended).Round(time.Second))
}

// judge checks how often reconcel wrote, and that it tried no more often than after any
// other failure once it knew of the fight.
func (h hostile) judge(w *e2e.World, since, named time.Time, attacks int) {
	w.Helper()
	tally, accepted, later := map[string]int{}, 0, 0
	for _, r := range w.Writes(since) {
		if r.Name != h.name || r.Resource == "events" {
			continue
		}
		tally[fmt.Sprint(r, " ", r.Code)]++
		if r.Code < 300 {
			accepted++
		}
		if r.Received.After(named) {
			later++
		}
	}
	w.Logf("%s: %d hostile writes, of reconcel %v, %d of them in the last %s", h.name, attacks, tally, later, time.Since(named).Round(time.Second))
	if accepted > maxFightWrites || later > maxAttempts || attacks < 100 {
		w.Errorf("%s: of reconcel, %d writes were accepted, want at most %d; it tried %d in the end, want at most %d; there were %d hostile writes",
			h.name, accepted, maxFightWrites, later, maxAttempts, attacks)
	}
}

// attack starts all hostile writers. stop ends them, and returns how often each wrote.
func attack(w *e2e.World) (stop func() map[string]int) {
	ctx, cancel := context.WithCancel(w.Context())
	var writing sync.WaitGroup
	var mu sync.Mutex
	counts := map[string]int{}
	for _, h := range hostiles {
		configs := w.Resource(e2e.ConfigMap)
		writing.Go(func() {
			tick := time.NewTicker(h.every)
			defer tick.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				_ = h.write(context.WithoutCancel(ctx), configs, h.name, i) // It fails while the child does not exist, or if reconcel was faster.
				mu.Lock()
				counts[h.name]++
				mu.Unlock()
				<-tick.C
			}
		})
	}
	return func() map[string]int {
		cancel()
		writing.Wait()
		return counts
	}
}

// contested returns an error unless the Box reports the conflict, and both writers.
func contested(w *e2e.World, h hostile) error {
	box := w.Get(faultKinds["Box"], h.name)
	conditions, _, _ := unstructured.NestedSlice(box.Object, "status", "conditions")
	for _, c := range conditions {
		c := c.(map[string]any)
		message, _ := c["message"].(string)
		if c["type"] == "Ready" && c["reason"] == "Contested" && strings.Contains(message, h.says) && strings.Contains(message, "reconcel") {
			return nil
		}
	}
	return fmt.Errorf("its conditions are %v", conditions)
}
