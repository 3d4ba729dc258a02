//go:build integration

package engine_test

import (
	"fmt"
	"testing"

	"reconcel/test/e2e"
)

// TestEmptyStatusLeavesNoEntry has a rule write a field of a built-in kind's status and
// then no field. The managedFields of the primary have no entry of reconcel's status.
func TestEmptyStatusLeavesNoEntry(t *testing.T) {
	w := newWorld(t)
	w.run(rulesFile + `- name: service-NAMESPACE
  for: {apiVersion: v1, kind: Service, namespaces: [NAMESPACE]}
  status: {loadBalancer: "${self.metadata.?labels.?public.orValue('') == 'yes' ? {'ingress': [{'ip': '192.0.2.1'}]} : null}"}
`)
	w.Create("apiVersion: v1\nkind: Service\nmetadata: {name: one, labels: {public: \"yes\"}}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n")
	service := e2e.GVK("v1", "Service")
	w.Eventually("the entry", func() error {
		if len(w.Get(service, "one").GetManagedFields()) < 2 {
			return fmt.Errorf("it does not exist")
		}
		return nil
	})
	w.Patch(service, "one", `{"metadata":{"labels":{"public":"no"}}}`)
	w.Eventually("the entry to go", func() error {
		for _, entry := range w.Get(service, "one").GetManagedFields() {
			if entry.Manager == "reconcel" {
				return fmt.Errorf("it owns %s", entry.FieldsV1)
			}
		}
		return nil
	})
}
