//go:build integration

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/rules/source"
)

// reload replaces the active rules of an instance.
func (w *world) reload(in *instance, src string) {
	w.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(strings.ReplaceAll(src, "NAMESPACE", w.Namespace))}})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	if err := in.Reload(ctx, program); err != nil {
		w.Fatalf("reload: %v", err)
	}
}

const rulesFile = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"

// gizmoCRD defines a kind that only the reload tests use.
var gizmoCRD = strings.NewReplacer("widget", "gizmo", "Widget", "Gizmo").Replace(widgetCRD)

// TestReloadAddsAKind adds a rule for a kind with a new CRD and an existing resource.
func TestReloadAddsAKind(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	before := widgetRules("", configMapChild("a", "${self.metadata.name}-a"))
	in := w.run(before)
	w.Create(widget("one", "value: x"))
	w.Has(configs, "one-a", nil)

	w.CRD(gizmoCRD)
	w.Create(strings.NewReplacer("Widget", "Gizmo").Replace(widget("two", "value: v")))
	started := time.Now()
	added := strings.NewReplacer("name: widget", "name: gizmo", "Widget", "Gizmo").Replace(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.reload(in, before+strings.TrimPrefix(added, rulesFile))
	w.Has(configs, "two-a", nil)
	if took := time.Since(started); took > time.Second {
		t.Errorf("it took %s until the first child was there", took)
	}
	w.reload(in, strings.Replace(before, "data: {value", "data: {other: new, value", 1))
	w.Has(configs, "one-a", nil)
	w.Create(strings.NewReplacer("Widget", "Gizmo").Replace(widget("three", "value: v")))
	w.Create(widget("four", "value: x"))
	w.Has(configs, "four-a", nil)
	if w.Get(configs, "three-a") != nil {
		t.Error("a rule that is gone made something")
	}
	if w.Get(configs, "two-a") == nil {
		t.Error("what a rule that is gone has made is not there any more")
	}
}

// TestManyReloads changes rules and resources at the same time. test/campaign tests
// rules files in a process for ten minutes.
func TestManyReloads(t *testing.T) {
	const primaries, reloads = 30, 30
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.CRD(gizmoCRD)
	for i := range primaries {
		w.Create(widget(fmt.Sprintf("w%d", i), "value: x"))
	}
	w.Create(strings.NewReplacer("Widget", "Gizmo").Replace(widget("g", "value: x")))
	mixed := w.watchVersions()
	in := w.run(versioned(0, allKinds))
	w.Has(configs, fmt.Sprintf("w%d-config", primaries-1), nil)
	goroutines := func() (n int) {
		for range 20 {
			n = max(n, runtime.NumGoroutine())
			runtime.Gosched()
		}
		return n
	}
	atFirst := goroutines()

	ctx, cancel := context.WithCancel(t.Context())
	var changing sync.WaitGroup
	changing.Go(func() { w.changeWidgets(ctx, primaries) })
	random := rand.New(rand.NewPCG(1, 2))
	for i := 1; i <= reloads; i++ {
		w.reload(in, versioned(i, random.IntN(allKinds+1)))
	}
	cancel()
	changing.Wait()
	last := reloads + 1
	w.reload(in, versioned(last, allKinds))
	for i := range primaries {
		w.Has(configs, fmt.Sprintf("w%d-config", i), map[string]any{"data.a": fmt.Sprint(last), "data.b": fmt.Sprint(last)})
	}
	for _, o := range mixed() {
		t.Errorf("%s has two versions of the rules: %v", o.GetName(), o.Object["data"])
	}
	w.Eventually("goroutines to be as many as at first", func() error {
		if now := goroutines(); now > atFirst+10 {
			return fmt.Errorf("there are %d, at first there were %d", now, atFirst)
		}
		return nil
	})
	w.Quiet(2 * time.Second)
	in.stop()
	w.run(versioned(last, allKinds))
	w.Quiet(2 * time.Second)
}

// allKinds is the selection that includes every part of versioned.
const allKinds = 1<<3 - 1

// versioned is a version of rules. Each bit of the selection includes an optional part: a
// kind of child, a rule, and a rule for another kind.
func versioned(version, selection int) string {
	child := func(id, kind, body string) string {
		return fmt.Sprintf("  - id: %s\n    template: {apiVersion: v1, kind: %s, metadata: {name: '${self.metadata.name}-%s'}%s}\n", id, kind, id, body)
	}
	data := fmt.Sprintf(`, data: {a: "%d", b: "%d", value: '${self.spec.value}'}`, version, version)
	children := []string{child("config", "ConfigMap", data)}
	if selection&1 != 0 {
		children = append(children, child("account", "ServiceAccount", ""))
	}
	all := widgetRules("", children...)
	if selection&2 != 0 {
		all += strings.TrimPrefix(strings.Replace(widgetRules("", child("second", "ConfigMap", data)), "name: widget", "name: second", 1), rulesFile)
	}
	if selection&4 != 0 {
		other := widgetRules("", child("config", "ConfigMap", data), child("secret", "Secret", ""))
		all += strings.TrimPrefix(strings.NewReplacer("name: widget", "name: gizmo", "Widget", "Gizmo").Replace(other), rulesFile)
	}
	return all
}

// watchVersions watches all ConfigMaps. Its result returns those that mixed two versions
// of the rules.
func (w *world) watchVersions() func() []*unstructured.Unstructured {
	w.Helper()
	watch, err := w.Resource(configs).Watch(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	var mixed []*unstructured.Unstructured
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			o, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			data, _, _ := unstructured.NestedStringMap(o.Object, "data")
			if data["a"] != data["b"] {
				mixed = append(mixed, o)
			}
		}
	}()
	return func() []*unstructured.Unstructured {
		watch.Stop()
		<-done
		return mixed
	}
}

// changeWidgets changes one Widget after another, at most a hundred in a second, until ctx
// ends.
func (w *world) changeWidgets(ctx context.Context, n int) {
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		<-pace.C
		body := fmt.Appendf(nil, `{"spec":{"value":"%d"}}`, i)
		_, err := w.Resource(widgets).Patch(ctx, fmt.Sprintf("w%d", i%n), types.MergePatchType, body, metav1.PatchOptions{})
		if err != nil && !errors.Is(err, context.Canceled) && ctx.Err() == nil {
			w.Errorf("change a Widget: %v", err)
		}
	}
}
