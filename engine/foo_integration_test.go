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

	"reconcel/engine/access"
)

const exampleFoo = `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: example}
spec: {deploymentName: web, replicas: 1}
`

func TestFoo(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(w.fooCRD())
	w.runWith(access.Options{Events: access.EventsAll}, fooRules)
	foo := w.Create(exampleFoo)

	w.Has(deployments, "web", map[string]any{"spec.replicas": 1, "metadata.labels.app": "nginx", "metadata.labels.controller": "example"})
	owner := metav1.GetControllerOf(w.Get(deployments, "web"))
	if owner == nil || owner.UID != foo.GetUID() || owner.Kind != "Foo" || owner.APIVersion != "samplecontroller.k8s.io/v1alpha1" {
		t.Fatalf("the Deployment's controller is %v, not the Foo", owner)
	}
	w.Has(foos, "example", map[string]any{"status.availableReplicas": 1})
	w.Is(foos, "example", "Ready", "True")
	w.told("Foo", "example", "Synced")

	w.Patch(foos, "example", `{"spec":{"replicas":3}}`)
	w.Has(deployments, "web", map[string]any{"spec.replicas": 3})
	w.Has(foos, "example", map[string]any{"status.availableReplicas": 3})
	w.Is(foos, "example", "Ready", "True")

	w.Patch(deployments, "web", `{"spec":{"replicas":5}}`)
	if took := w.Has(deployments, "web", map[string]any{"spec.replicas": 3}); took > time.Second {
		t.Errorf("an edited Deployment was repaired after %s", took)
	}
	old := w.Get(deployments, "web").GetUID()
	w.Delete(deployments, "web")
	took := w.Eventually("a new Deployment", func() error {
		if u := w.Get(deployments, "web"); u == nil || u.GetUID() == old {
			return errors.New("not there yet")
		}
		return nil
	})
	if took > time.Second {
		t.Errorf("a deleted Deployment was back after %s", took)
	}

	w.Is(foos, "example", "Ready", "True")
	w.Delete(foos, "example")
	w.Lacks(deployments, "web")
}

func (w *world) told(kind, name, reason string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("an Event %s about %s %s", reason, kind, name), func() error {
		if reasons := w.EventReasons(kind, name); !slices.Contains(reasons, reason) {
			return fmt.Errorf("only %v", reasons)
		}
		return nil
	})
}

func TestInvalidFooIsReported(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.run(fooRules)
	w.Create("apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: nameless}\nspec: {replicas: 1}\n")
	w.Is(foos, "nameless", "Stalled", "True")
	w.told("Foo", "nameless", "InvalidSpec")
	w.Quiet(3 * time.Second)
	w.Patch(foos, "nameless", `{"spec":{"deploymentName":"named"}}`)
	w.Has(deployments, "named", nil)
	w.Is(foos, "nameless", "Ready", "True")

	// An invalid spec does not delete existing objects.
	w.Patch(foos, "nameless", `{"spec":{"deploymentName":""}}`)
	w.Is(foos, "nameless", "Stalled", "True")
	w.Has(deployments, "named", nil)
}

func TestForeignDeploymentIsLeftAlone(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(w.fooCRD())
	w.run(fooRules)
	before := w.Create(`
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
	w.Create(exampleFoo)
	w.told("Foo", "example", "ErrResourceExists")
	w.Is(foos, "example", "Stalled", "True")
	foo := w.Get(foos, "example")
	conditions, _, _ := unstructured.NestedSlice(foo.Object, "status", "conditions")
	if text := fmt.Sprint(conditions); !strings.Contains(text, "Deployment/"+w.Namespace+"/web") || !strings.Contains(text, "driver") {
		t.Errorf("no condition names the holder: %s", text)
	}
	after := w.Get(deployments, "web")
	if after.GetUID() != before.GetUID() || after.GetGeneration() != before.GetGeneration() || len(after.GetOwnerReferences()) > 0 || len(after.GetLabels()) != 1 {
		t.Errorf("the foreign Deployment was touched: %v", after.Object["metadata"])
	}

	w.Delete(deployments, "web")
	took := w.Has(deployments, "web", map[string]any{"metadata.labels.app": "nginx"})
	if took > 10*time.Second {
		t.Errorf("healed after %s", took)
	}
	w.Is(foos, "example", "Ready", "True")
}

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.run(fooRules)
	w.Create(exampleFoo)
	w.Is(foos, "example", "Ready", "True")
	w.Patch(foos, "example", `{"spec":{"deploymentName":"other"}}`)
	w.Has(deployments, "other", nil)
	w.Lacks(deployments, "web")
	w.Is(foos, "example", "Ready", "True")
	w.told("Foo", "example", "Pruned")
}

func TestTwoFoosWantOneName(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.run(fooRules)
	first := w.Create(exampleFoo)
	w.Is(foos, "example", "Ready", "True")
	w.Create(strings.Replace(exampleFoo, "name: example", "name: second", 1))
	w.Is(foos, "second", "Stalled", "True")
	if owner := metav1.GetControllerOf(w.Get(deployments, "web")); owner.UID != first.GetUID() {
		t.Errorf("the Deployment now belongs to %s", owner.Name)
	}
	w.Delete(foos, "example")
	w.Is(foos, "second", "Ready", "True")
}

func TestRecreatedPrimary(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	w.run(fooRules)
	w.Create(exampleFoo)
	w.Is(foos, "example", "Ready", "True")
	w.Delete(foos, "example")
	again := w.Create(exampleFoo)
	w.Eventually("the Deployment of the new Foo", func() error {
		u := w.Get(deployments, "web")
		if u == nil {
			return errors.New("it does not exist")
		}
		if owner := metav1.GetControllerOf(u); owner == nil || owner.UID != again.GetUID() {
			return fmt.Errorf("it belongs to %v", owner)
		}
		return nil
	})
	w.Is(foos, "example", "Ready", "True")
}
