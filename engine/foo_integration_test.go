//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const exampleFoo = `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: example}
spec: {deploymentName: web, replicas: 1}
`

func TestFoo(t *testing.T) {
	w := newWorldAlone(t)
	w.crd(w.fooCRD())
	w.run(fooRules)
	foo := w.create(exampleFoo)

	w.has(deployments, "web", map[string]any{"spec.replicas": 1, "metadata.labels.app": "nginx", "metadata.labels.controller": "example"})
	owner := metav1.GetControllerOf(w.get(deployments, "web"))
	if owner == nil || owner.UID != foo.GetUID() || owner.Kind != "Foo" || owner.APIVersion != "samplecontroller.k8s.io/v1alpha1" {
		t.Fatalf("the Deployment's controller is %v, not the Foo", owner)
	}
	w.has(foos, "example", map[string]any{"status.availableReplicas": 1})
	w.is(foos, "example", "Ready", "True")
	w.told("Foo", "example", "Synced")

	w.patch(foos, "example", `{"spec":{"replicas":3}}`)
	w.has(deployments, "web", map[string]any{"spec.replicas": 3})
	w.has(foos, "example", map[string]any{"status.availableReplicas": 3})
	w.is(foos, "example", "Ready", "True")

	w.patch(deployments, "web", `{"spec":{"replicas":5}}`)
	if took := w.has(deployments, "web", map[string]any{"spec.replicas": 3}); took > time.Second {
		t.Errorf("an edited Deployment was repaired after %s", took)
	}
	old := w.get(deployments, "web").GetUID()
	w.delete(deployments, "web")
	took := w.eventually("a new Deployment", func() error {
		if u := w.get(deployments, "web"); u == nil || u.GetUID() == old {
			return errors.New("not there yet")
		}
		return nil
	})
	if took > time.Second {
		t.Errorf("a deleted Deployment was back after %s", took)
	}

	w.is(foos, "example", "Ready", "True")
	w.delete(foos, "example")
	w.lacks(deployments, "web")
}

// told waits for an Event about an object.
func (w *world) told(kind, name, reason string) {
	w.Helper()
	w.eventually(fmt.Sprintf("an Event %s about %s %s", reason, kind, name), func() error {
		if reasons := w.events(kind, name); !slices.Contains(reasons, reason) {
			return fmt.Errorf("only %v", reasons)
		}
		return nil
	})
}

func TestInvalidFooIsReported(t *testing.T) {
	w := newWorld(t)
	w.crd(w.fooCRD())
	w.run(fooRules)
	w.create("apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: nameless}\nspec: {replicas: 1}\n")
	w.is(foos, "nameless", "Stalled", "True")
	w.told("Foo", "nameless", "InvalidSpec")
	w.quiet(3 * time.Second)
	w.patch(foos, "nameless", `{"spec":{"deploymentName":"named"}}`)
	w.has(deployments, "named", nil)
	w.is(foos, "nameless", "Ready", "True")

	// A spec that turns invalid keeps what exists.
	w.patch(foos, "nameless", `{"spec":{"deploymentName":""}}`)
	w.is(foos, "nameless", "Stalled", "True")
	w.has(deployments, "named", nil)
}

func TestForeignDeploymentIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.crd(w.fooCRD())
	w.run(fooRules)
	before := w.create(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {mine: "yes"}}
spec:
  replicas: 0
  selector: {matchLabels: {mine: "yes"}}
  template:
    metadata: {labels: {mine: "yes"}}
    spec: {containers: [{name: c, image: busybox}]}
`)
	w.create(exampleFoo)
	w.told("Foo", "example", "ErrResourceExists")
	w.is(foos, "example", "Stalled", "True")
	foo := w.get(foos, "example")
	conditions, _, _ := unstructured.NestedSlice(foo.Object, "status", "conditions")
	if text := fmt.Sprint(conditions); !strings.Contains(text, "Deployment/"+w.namespace+"/web") || !strings.Contains(text, "driver") {
		t.Errorf("no condition names the holder: %s", text)
	}
	after := w.get(deployments, "web")
	if after.GetUID() != before.GetUID() || after.GetGeneration() != before.GetGeneration() || len(after.GetOwnerReferences()) > 0 || len(after.GetLabels()) != 1 {
		t.Errorf("the foreign Deployment was touched: %v", after.Object["metadata"])
	}

	w.delete(deployments, "web")
	took := w.has(deployments, "web", map[string]any{"metadata.labels.app": "nginx"})
	if took > 10*time.Second {
		t.Errorf("healed after %s", took)
	}
	w.is(foos, "example", "Ready", "True")
}

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.crd(w.fooCRD())
	w.run(fooRules)
	w.create(exampleFoo)
	w.is(foos, "example", "Ready", "True")
	w.patch(foos, "example", `{"spec":{"deploymentName":"other"}}`)
	w.has(deployments, "other", nil)
	w.lacks(deployments, "web")
	w.is(foos, "example", "Ready", "True")
	w.told("Foo", "example", "Pruned")
}

func TestTwoFoosWantOneName(t *testing.T) {
	w := newWorld(t)
	w.crd(w.fooCRD())
	w.run(fooRules)
	first := w.create(exampleFoo)
	w.is(foos, "example", "Ready", "True")
	w.create(strings.Replace(exampleFoo, "name: example", "name: second", 1))
	w.is(foos, "second", "Stalled", "True")
	if owner := metav1.GetControllerOf(w.get(deployments, "web")); owner.UID != first.GetUID() {
		t.Errorf("the Deployment now belongs to %s", owner.Name)
	}
	w.delete(foos, "example")
	w.is(foos, "second", "Ready", "True")
}

func TestRecreatedPrimary(t *testing.T) {
	w := newWorld(t)
	w.crd(w.fooCRD())
	w.run(fooRules)
	w.create(exampleFoo)
	w.is(foos, "example", "Ready", "True")
	w.delete(foos, "example")
	again := w.create(exampleFoo)
	w.eventually("the Deployment of the new Foo", func() error {
		u := w.get(deployments, "web")
		if u == nil {
			return errors.New("it does not exist")
		}
		if owner := metav1.GetControllerOf(u); owner == nil || owner.UID != again.GetUID() {
			return fmt.Errorf("it belongs to %v", owner)
		}
		return nil
	})
	w.is(foos, "example", "Ready", "True")
}
