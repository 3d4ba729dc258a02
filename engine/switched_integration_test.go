//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func (w *world) container(name string, want any, of func(map[string]any) any) {
	w.Helper()
	w.Eventually(fmt.Sprintf("the container of %s to have %v", name, want), func() error {
		u := w.Get(deployments, name)
		if u == nil {
			return errors.New("there is no such Deployment")
		}
		list, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
		if err != nil || len(list) != 1 {
			return fmt.Errorf("its containers are %v", list)
		}
		if got := of(list[0].(map[string]any)); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
}

// switched is a field of which a schema allows only one alternative: the rule's, and
// another one that a foreign write switches to.
type switched struct {
	name, ours, foreign string
	path                []string // of the field that must stay unchanged
}

var switches = []switched{
	{"a volume", `containers: [{name: c, image: x}], volumes: [{name: v, emptyDir: {medium: Memory}}]`,
		`[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"v","configMap":{"name":"some"}}}]`, []string{"spec", "template", "spec", "volumes"}},
	{"a volume, the other way", `containers: [{name: c, image: x}], volumes: [{name: v, configMap: {name: some}}]`,
		`[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"v","emptyDir":{}}}]`, []string{"spec", "template", "spec", "volumes"}},
	{"an env", `containers: [{name: c, image: x, env: [{name: A, value: "1"}]}]`,
		`[{"op":"replace","path":"/spec/template/spec/containers/0/env/0","value":{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}}]`, []string{"spec", "template", "spec", "containers"}},
	{"an env, the other way", `containers: [{name: c, image: x, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]`,
		`[{"op":"replace","path":"/spec/template/spec/containers/0/env/0","value":{"name":"A","value":"2"}}]`, []string{"spec", "template", "spec", "containers"}},
	{"a probe", `containers: [{name: c, image: x, livenessProbe: {httpGet: {port: 80}}}]`,
		`[{"op":"replace","path":"/spec/template/spec/containers/0/livenessProbe","value":{"tcpSocket":{"port":81}}}]`, []string{"spec", "template", "spec", "containers"}},
	{"a probe, the other way", `containers: [{name: c, image: x, livenessProbe: {tcpSocket: {port: 80}}}]`,
		`[{"op":"replace","path":"/spec/template/spec/containers/0/livenessProbe","value":{"httpGet":{"port":81}}}]`, []string{"spec", "template", "spec", "containers"}},
	{"a strategy", `STRATEGY{type: Recreate}`,
		`[{"op":"replace","path":"/spec/strategy","value":{"type":"RollingUpdate"}}]`, []string{"spec", "strategy"}},
	{"a strategy, the other way", `STRATEGY{type: RollingUpdate, rollingUpdate: {maxSurge: 2}}`,
		`[{"op":"replace","path":"/spec/strategy","value":{"type":"Recreate"}}]`, []string{"spec", "strategy"}},
}

// TestSwitchedFields switches fields that exclude each other. The engine switches them
// back, and foreign fields stay.
func TestSwitchedFields(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	var children []string
	for i, s := range switches {
		strategy, spec := "{}", s.ours
		if own, ok := strings.CutPrefix(s.ours, "STRATEGY"); ok {
			strategy, spec = own, `containers: [{name: c, image: x}]`
		}
		children = append(children, fmt.Sprintf("  - id: d%d\n    template:\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {name: \"${self.metadata.name}-%d\"}\n"+
			"      spec:\n        replicas: 0\n        strategy: %s\n        selector: {matchLabels: {app: x}}\n        template:\n          metadata: {labels: {app: x}}\n          spec: {%s}\n", i, i, strategy, spec))
	}
	w.run(widgetRules("", children...))
	w.Create(widget("one", "x: y"))
	w.Is(widgets, "one", "Ready", "True")
	for i, s := range switches {
		t.Run(s.name, func(t *testing.T) {
			name := fmt.Sprintf("one-%d", i)
			w.Patch(deployments, name, `{"spec":{"minReadySeconds":1,"template":{"spec":{"terminationGracePeriodSeconds":7}}}}`)
			before, _, _ := unstructured.NestedFieldCopy(w.Get(deployments, name).Object, s.path...)
			_, err := w.Resource(deployments).Patch(w.Context(), name, types.JSONPatchType, []byte(s.foreign), metav1.PatchOptions{FieldManager: "foreign"})
			if err != nil {
				t.Fatal(err)
			}
			w.Eventually("it to be switched back", func() error {
				u := w.Get(deployments, name)
				now, _, _ := unstructured.NestedFieldCopy(u.Object, s.path...)
				if fmt.Sprint(now) != fmt.Sprint(before) {
					return fmt.Errorf("it is %v and not %v", now, before)
				}
				if grace, _, _ := unstructured.NestedInt64(u.Object, "spec", "template", "spec", "terminationGracePeriodSeconds"); grace != 7 {
					return fmt.Errorf("the field of another manager was lost")
				}
				return nil
			})
		})
	}
	w.Is(widgets, "one", "Ready", "True")
}

func TestRejectedChangeNamesTheRemedy(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", `  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        replicas: 0
        selector: {matchLabels: {app: "${self.spec.app}"}}
        template:
          metadata: {labels: {app: "${self.spec.app}"}}
          spec: {containers: [{name: c, image: busybox}]}
`))
	w.Create(widget("one", "app: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"spec":{"app":"y"}}`)
	w.Is(widgets, "one", "Stalled", "True")
	w.tells("one", "Deployment/"+w.Namespace+"/one: the API server rejects the change of spec.selector; if it is immutable, set onChange: replace")
	w.told("Widget", "one", "Rejected")
	w.Patch(widgets, "one", `{"spec":{"app":"x"}}`)
	w.Is(widgets, "one", "Ready", "True")
}
