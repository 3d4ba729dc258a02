//go:build integration

package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/soak"
)

// waveRules use what reconcel remembers of a primary: children, generated names,
// lookups, finalizers, a status, and errors.
const waveRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: wave
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box}
  validate:
  - {expression: self.spec.value > 0, message: spec.value must be positive}
  lookups:
  - {id: settings, apiVersion: v1, kind: Secret, name: "${self.metadata.name}"}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}", labels: {wave: "yes"}}
      data: {value: "${string(self.spec.value)}"}
  - id: late
    when: has(settings.data.value)
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-late", labels: {wave: "yes"}}}
  - id: copies
    replicas: self.spec.value % 3
    template: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: "${self.metadata.name}-", labels: {wave: "yes"}}}
  finalize:
  - id: goodbye
    timeout: 1m
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-goodbye", labels: {wave: "yes"}}}
`

// waves are primaries that come and go, each with a name that is used once.
type waves struct {
	fleet
	process *process
	debug   string
	count   int
}

// TestWatchRenewals lets the API server end each watch after some seconds, while
// primaries come, change and go and 1 % of the requests fail. Nothing may be left of
// them in the process.
func TestWatchRenewals(t *testing.T) {
	t.Parallel()
	random, size, count, seconds := chance(t), 20, 2, 1
	if soak.Enabled() {
		size, count, seconds = 200, 45, 5
	}
	cluster := devcluster.Start(t, devcluster.Options{Without: []string{devcluster.Kwok, devcluster.Scheduler}})
	w := &waves{fleet: fleet{World: e2e.In(t, cluster, "default"), size: size}, debug: freeAddress(t)}
	w.CRD(faultCRD("Box", "boxes", "Namespaced"))
	proxy := faultproxy.Start(t, cluster.UserConfig(t, e2e.User))
	proxy.ShortenWatches(seconds)
	w.process = start(t, e2e.Build(t), "reconcel", "-f", write(t, filepath.Join(t.TempDir(), "rules.yaml"), waveRules), "--kubeconfig", proxy.Kubeconfig(t),
		"--namespace", "default", "--listen", "127.0.0.1:0", "--leader-elect=false", "--debug-listen", w.debug, "--pprof")
	w.process.Runs()
	began := time.Now()
	faults := proxy.Inject(func(faultproxy.Request) bool { return rand.IntN(100) == 0 }, faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: 500}})
	var prints []waveprint
	for range count {
		w.come()
		w.alter(random)
		w.leave()
		prints = append(prints, w.settle())
		t.Logf("after wave %d: %+v", len(prints), prints[len(prints)-1])
	}
	renewals := w.Requests(func(r devcluster.Request) bool {
		return r.User == e2e.User && r.Verb == "watch" && r.Received.After(began)
	})
	failed, _ := faults.Hits()
	t.Logf("%d primaries came and went in %s, watches began %d times, %d requests failed", size*count, time.Since(began).Round(time.Second), len(renewals), failed)
	if len(renewals) < count || failed == 0 {
		t.Errorf("watches began %d times, and %d requests failed: the faults did not occur", len(renewals), failed)
	}
	w.judge(prints)
}

func (w *waves) come() {
	w.Helper()
	w.count++
	w.value = 1
	w.each(func(ctx context.Context, name string) error {
		_, err := w.Resource(faultKinds["Box"]).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "faults.reconcel.dev/v1", "kind": "Box", "metadata": map[string]any{"name": w.named(name)},
			"spec": map[string]any{"value": int64(w.value)},
		}}, metav1.CreateOptions{})
		return err
	})
	w.hasChildren(2 * w.size)
}

func (w *waves) named(name string) string { return fmt.Sprintf("w%d-%s", w.count, name) }

// hasChildren waits until there are so many children.
func (w *waves) hasChildren(want int) {
	w.Helper()
	e2e.Eventually(w.T, fmt.Sprintf("%d children", want), e2e.Patience, func() error {
		list, err := w.Resource(e2e.ConfigMap).List(w.Context(), metav1.ListOptions{LabelSelector: "wave"})
		if err == nil && len(list.Items) != want {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
}

// alter changes all primaries, makes a tenth of them invalid, edits some children, and
// creates what some rules look up.
func (w *waves) alter(random *rand.Rand) {
	w.Helper()
	edited := random.IntN(10)
	for i := range w.size {
		name, value := fmt.Sprintf("box-%04d", i), 2
		switch i % 10 {
		case edited:
			value = 0
		case (edited + 1) % 10:
			w.Patch(e2e.ConfigMap, w.named(name), `{"data":{"value":"edited"}}`)
		case (edited + 2) % 10:
			w.Create(fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: %s, labels: {wave: "yes"}}, data: {value: b25l}}`, w.named(name)))
		}
		w.Patch(faultKinds["Box"], w.named(name), fmt.Sprintf(`{"spec":{"value":%d}}`, value))
	}
}

// leave deletes all primaries, and what their rules have looked up.
func (w *waves) leave() {
	w.Helper()
	w.each(func(ctx context.Context, name string) error {
		_, err := w.Resource(faultKinds["Box"]).Patch(ctx, w.named(name), types.MergePatchType, []byte(`{"spec":{"value":1}}`), metav1.PatchOptions{})
		if err != nil {
			return err
		}
		return w.Resource(faultKinds["Box"]).Delete(ctx, w.named(name), metav1.DeleteOptions{})
	})
	e2e.Eventually(w.T, "all primaries and children to be gone", e2e.Patience, func() error {
		boxes, err := w.Resource(faultKinds["Box"]).List(w.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		children, err := w.Resource(e2e.ConfigMap).List(w.Context(), metav1.ListOptions{LabelSelector: "wave"})
		if err == nil && len(boxes.Items)+len(children.Items) > 0 {
			err = fmt.Errorf("there are %d Boxes and %d children", len(boxes.Items), len(children.Items))
		}
		return err
	})
	err := w.Resource(e2e.GVK("v1", "Secret")).DeleteCollection(w.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "wave"})
	if err != nil {
		w.Fatal(err)
	}
}

// waveprint is what the process uses when all primaries are gone.
type waveprint struct{ goroutines, files, kibibytes int }

// held are the metrics that count what the process holds of primaries.
var held = []string{"reconcel_queue_length", "reconcel_rule_primaries{", "reconcel_rule_children{", `reconcel_watch_objects{kind="Box`, `reconcel_watch_objects{kind="ConfigMap",role="child"`}

// settle waits until the process holds nothing of the primaries.
func (w *waves) settle() (used waveprint) {
	w.Helper()
	e2e.Eventually(w.T, "nothing to be held of deleted primaries", e2e.Patience, func() error {
		values := w.process.metrics(w.T).values
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if slices.ContainsFunc(held, func(p string) bool { return strings.HasPrefix(name, p) }) && values[name] != 0 {
				return fmt.Errorf("%s is %v", name, values[name])
			}
		}
		if len(values) == 0 {
			return errors.New("there are no metrics")
		}
		used = waveprint{goroutines: int(values["go_goroutines"]), files: int(values["process_open_fds"])}
		return nil
	})
	used.kibibytes = inUse(w.T, w.debug) >> 10
	return used
}

// judge compares the last third of the waves with the second. In the first, the 4,096
// Events fill up that the process remembers.
func (w *waves) judge(prints []waveprint) {
	w.Helper()
	if len(prints) < 3 {
		return
	}
	third := len(prints) / 3
	before, after := least(prints[third:2*third]), least(prints[2*third:])
	const slack, bytes = 5, 128
	if after.goroutines > before.goroutines+slack || after.files > before.files+slack || (after.kibibytes-before.kibibytes)<<10 > bytes*third*w.size {
		w.Errorf("the process grows: %+v became %+v", before, after)
	}
}

// least returns the smallest values.
func least(prints []waveprint) waveprint {
	l := prints[0]
	for _, p := range prints {
		l = waveprint{min(l.goroutines, p.goroutines), min(l.files, p.files), min(l.kibibytes, p.kibibytes)}
	}
	return l
}
