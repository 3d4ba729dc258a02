//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/test/e2e"
)

// deletionRules are for Boxes, whose children the garbage collector deletes, for Bins,
// whose children reconcel deletes, and for Crumbs, whose CRD goes.
const deletionRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: RULE-box
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box, namespaces: ["RULE-*"]}
  children:
  - id: lower
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a-lower}, data: {value: "${self.spec.value}"}}
  - id: items
    forEach: [{name: item, in: "['x', 'y']"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "a-${item}"}, data: {value: "${lower.data.value}"}}
- name: RULE-bin
  for: {apiVersion: faults.reconcel.dev/v1, kind: Bin, namespaces: ["RULE-*"]}
  teardown: ordered
  allow: {clusterScoped: [{group: faults.reconcel.dev, kind: Crate}]}
  children:
  - id: lower
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a-lower}, data: {value: "${self.spec.value}"}}
  - id: upper
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a-upper}, data: {value: "${lower.data.value}"}}
  - id: crate
    template: {apiVersion: faults.reconcel.dev/v1, kind: Crate, metadata: {name: "${self.metadata.namespace}"}, spec: {value: "${self.spec.value}"}}
- name: RULE-crumb
  for: {apiVersion: faults.reconcel.dev/v1, kind: Crumb, namespaces: ["RULE-*"]}
  children:
  - id: lower
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a-lower}, data: {value: "${self.spec.value}"}}
`

// namespaceEnds deletes a namespace with primaries.
func (s *stage) namespaceEnds(t *testing.T) {
	const name = "ending"
	w := s.world.Within(t)
	s.newController(t, name, strings.ReplaceAll(deletionRules, "RULE", name), again)
	namespace := w.Create("{apiVersion: v1, kind: Namespace, metadata: {generateName: " + name + "-}}").GetName()
	in := w.Beside(namespace)
	for _, kind := range []string{"Box", "Bin"} {
		in.Create("{apiVersion: faults.reconcel.dev/v1, kind: " + kind + ", metadata: {name: a" + strings.ToLower(kind) + "}, spec: {value: one}}")
	}
	// Both want the same names, so only one gets ready. The other one must not block the end.
	in.Has(faultKinds["Crate"], namespace, nil)
	in.Eventually("one to be ready", func() error {
		var failures []error
		for _, kind := range []string{"Box", "Bin"} {
			if err := e2e.Condition(in.Get(faultKinds[kind], "a"+strings.ToLower(kind)), "Ready", "True"); err != nil {
				failures = append(failures, err)
			}
		}
		if len(failures) == 2 {
			return errors.Join(failures...)
		}
		return nil
	})
	in.Delete(e2e.GVK("v1", "Namespace"), namespace)
	took := e2e.Eventually(t, "the namespace to be gone", e2e.Patience, func() error {
		if u := w.Get(e2e.GVK("v1", "Namespace"), namespace); u != nil {
			return fmt.Errorf("it has %v", u.Object["status"])
		}
		return nil
	})
	in.Lacks(faultKinds["Crate"], namespace)
	t.Logf("the namespace was gone after %s", took.Round(100*time.Millisecond))
}

// crumbCRD is a CRD that goes and comes back.
var crumbCRD = faultCRD("Crumb", "crumbs", "Namespaced")

// kindEnds deletes the CRD of primaries, and creates it again.
func (s *stage) kindEnds(t *testing.T) {
	const name = "crumbs"
	crumb, crds := e2e.GVK("faults.reconcel.dev/v1", "Crumb"), e2e.GVK("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	w := s.world.Within(t)
	control := s.newController(t, name, strings.ReplaceAll(deletionRules, "RULE", name), again)
	namespace := w.CreateNamespace(name + "-")
	in := w.Beside(namespace)
	for range 2 {
		primary := in.Create("{apiVersion: faults.reconcel.dev/v1, kind: Crumb, metadata: {name: a}, spec: {value: one}}")
		in.Is(crumb, "a", "Ready", "True")
		if owner := metav1.GetControllerOf(in.Get(e2e.ConfigMap, "a-lower")); owner.UID != primary.GetUID() {
			t.Errorf("the child belongs to %s", owner.UID)
		}
		in.Delete(crds, "crumbs.faults.reconcel.dev")
		in.Eventually("the CRD to be gone", func() error {
			if in.Get(crds, "crumbs.faults.reconcel.dev") != nil {
				return errors.New("it exists")
			}
			return nil
		})
		in.Lacks(e2e.ConfigMap, "a-lower")
		w.CRD(crumbCRD)
	}
	if control.process.Ended() {
		t.Error("the process ended")
	}
}
