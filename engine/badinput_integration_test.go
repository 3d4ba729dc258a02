//go:build integration

package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// pool is a rule with every field that a bad spec can break.
const pool = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: pool-NAMESPACE
  for:
    apiVersion: test.reconcel.dev/v1
    kind: Widget
    namespaces: [NAMESPACE]
  children:
  - id: workers
    forEach: [{name: w, in: self.spec.workers}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${w}"}
  - id: spare
    replicas: self.spec.spare
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {generateName: spare-}
  - id: placed
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-placed", namespace: "${self.spec.?place.orValue(self.metadata.namespace)}"}
`

// TestBadInput breaks a good spec in several ways. Each mistake gives one clear condition
// and Event, and all existing objects stay unchanged.
func TestBadInput(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(pool)
	for _, tc := range []struct{ name, bad, says string }{
		{"negative", `{"spec":{"spare":-1}}`, `child "spare": replicas: must be at least 0 and at most 500`},
		{"endless", `{"spec":{"spare":501}}`, `child "spare": replicas: must be at least 0 and at most 500`},
		{"text", `{"spec":{"spare":"two"}}`, `child "spare": replicas: must be a whole number, got string`},
		{"nolist", `{"spec":{"workers":{"a":1}}}`, `child "workers": forEach: must be a list, got a map`},
		{"nothing", `{"spec":{"workers":null}}`, `child "workers": forEach: no such key: workers`},
		{"twice", `{"spec":{"workers":["a","a"]}}`, `child "workers"[0]: metadata.name: child "workers"[1] of rule "pool-NAMESPACE" has the same kind, namespace and name`},
		{"noname", `{"spec":{"workers":["a","B_"]}}`, `child "workers"[1]: metadata.name: the name may contain only lower-case letters`},
		{"elsewhere", `{"spec":{"place":"kube-system"}}`, `child "placed": metadata.namespace: it is not the primary's namespace, and allow.namespaces does not include it`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{World: w.Within(t)}
			w.Create(widget(tc.name, "workers: [a, b], spare: 2"))
			w.Is(widgets, tc.name, "Ready", "True")
			before := w.ownedBy(tc.name)
			if len(before) != 5 {
				t.Fatalf("%d children: %v", len(before), before)
			}
			w.Patch(widgets, tc.name, tc.bad)
			w.Is(widgets, tc.name, "Stalled", "True")
			w.says(widgets, tc.name, "Stalled", "True", w.Fill(tc.says))
			w.told("Widget", tc.name, "RuleError")
			after := w.ownedBy(tc.name)
			for name, uid := range before {
				if after[name] != uid {
					t.Errorf("%s is lost: %v, it was %v", name, after, before)
				}
			}
			if len(after) != len(before) {
				t.Errorf("children were made: %v, there were %v", after, before)
			}
			w.Delete(widgets, tc.name)
		})
	}
}

// ownedBy returns the UIDs of the ConfigMaps that a primary owns.
func (w *world) ownedBy(primary string) map[string]types.UID {
	w.Helper()
	list, err := w.Resource(configs).List(w.Context(), metav1.ListOptions{LabelSelector: "reconcel.dev/rule"})
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]types.UID{}
	for _, o := range list.Items {
		if refs := o.GetOwnerReferences(); len(refs) == 1 && refs[0].Name == primary {
			out[o.GetName()] = o.GetUID()
		}
	}
	return out
}
