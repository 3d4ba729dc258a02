//go:build integration

package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"reconcel/rules/schema"
	"reconcel/sim"
	memory "reconcel/sim/world"
	"reconcel/test/e2e"
	"reconcel/test/oracle"
)

// sequenceModel computes what a primary should have: what a new controller makes of it in
// a new cluster in memory.
type sequenceModel struct {
	name  string // of the rules
	kinds *sim.Kinds

	mu     sync.Mutex
	states map[string]map[string][]string // by rules and primary
}

func newSequenceModel(t *testing.T, name string) *sequenceModel {
	t.Helper()
	var crds []map[string]any
	for _, text := range []string{faultCRD("Box", "boxes", "Namespaced"), faultCRD("Crate", "crates", "Cluster")} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		crds = append(crds, object)
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	return &sequenceModel{name: name, kinds: kinds, states: map[string]map[string][]string{}}
}

// state returns the objects that rules make of a primary, and the primary itself.
func (m *sequenceModel) state(ctx context.Context, r sequenceRules, primary map[string]any) (map[string][]string, error) {
	text, err := json.Marshal([]any{r, primary})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.states[string(text)]; known != nil {
		return known, nil
	}
	state, err := m.compute(ctx, r, primary)
	if err != nil {
		return nil, fmt.Errorf("the model: %w", err)
	}
	m.states[string(text)] = state
	return state, nil
}

func (m *sequenceModel) compute(ctx context.Context, r sequenceRules, primary map[string]any) (map[string][]string, error) {
	program, err := r.load(m.name)
	if err != nil {
		return nil, err
	}
	w, err := memory.New(memory.Options{Program: program, Kinds: m.kinds})
	if err != nil {
		return nil, err
	}
	namespace := m.name + "-model"
	u := (&unstructured.Unstructured{Object: primary}).DeepCopy()
	u.SetNamespace(namespace)
	for _, o := range []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}, u,
	} {
		if _, err := w.Cluster().Put(o); err != nil {
			return nil, err
		}
	}
	if err := w.Settle(ctx); err != nil {
		return nil, err
	}
	if w.Cluster().Find(e2e.Deployment.GroupKind(), namespace, "a-app") != nil {
		if err := w.Cluster().MarkReady(e2e.Deployment, namespace, "a-app"); err != nil {
			return nil, err
		}
	}
	if err := w.Settle(ctx); err != nil {
		return nil, err
	}
	history := oracle.NewHistory()
	for _, o := range w.Objects() {
		history.Record(watch.Added, o)
	}
	return selectSequence(history, m.name, namespace).State(), nil
}

// selectSequence returns the objects of a sequence.
func selectSequence(history *oracle.History, name, namespace string) *oracle.Selection {
	names := oracle.NewNames([]string{"a-copy-"}, "kube-system/reconcel", "default/RULE", namespace, "NAMESPACE", name, "RULE")
	return history.Select(names, func(k oracle.Key) bool {
		_, observed := faultKinds[k.Kind]
		return observed && strings.Contains(k.Namespace+"/"+k.Name, namespace) && k.Name != "kube-root-ca.crt" && k.Name != canary
	})
}
