//go:build integration

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const scaledChild = `  - id: web
    ignoreFields: [spec.replicas, 'spec.template.metadata.annotations["example.com/restart"]']
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        replicas: ${self.spec.replicas}
        selector: {matchLabels: {app: x}}
        template:
          metadata: {labels: {app: x}, annotations: {example.com/restart: never}}
          spec: {containers: [{name: c, image: "${self.spec.image}"}]}
`

// scale sets the replicas of a Deployment as an autoscaler does.
func (w *world) scale(name, replicas string) {
	w.Helper()
	_, err := w.Resource(deployments).Patch(w.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":`+replicas+`}}`),
		metav1.PatchOptions{FieldManager: "autoscaler"}, "scale")
	if err != nil {
		w.Fatal(err)
	}
}

func TestIgnoredFields(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", scaledChild))
	w.Create(widget("one", "replicas: 2, image: busybox"))
	w.Has(deployments, "one", map[string]any{"spec.replicas": 2})
	w.Is(widgets, "one", "Ready", "True")

	// While reconcel is the only owner of the ignored fields, an update must not reset
	// them.
	w.Patch(widgets, "one", `{"spec":{"image":"nginx","replicas":7}}`)
	w.image("one", "nginx")
	w.Is(widgets, "one", "Ready", "True")
	w.Has(deployments, "one", map[string]any{"spec.replicas": 2})
	w.Patch(deployments, "one", `{"metadata":{"labels":{"reconcel.dev/child":"other"}}}`)
	w.Eventually("the label to be back", func() error {
		if label := w.Get(deployments, "one").GetLabels()["reconcel.dev/child"]; label != "web" {
			return fmt.Errorf("it is %q", label)
		}
		return nil
	})
	w.Has(deployments, "one", map[string]any{"spec.replicas": 2})
	w.Is(widgets, "one", "Ready", "True")

	since := time.Now()
	w.scale("one", "4")
	w.Patch(deployments, "one", `{"spec":{"template":{"metadata":{"annotations":{"example.com/restart":"now"}}}}}`)
	w.Is(widgets, "one", "Ready", "True")
	w.Rest(2 * time.Second)
	for _, r := range w.Writes(since) {
		if r.Resource == "deployments" {
			t.Errorf("an ignored field caused a %s of the Deployment", r.Verb)
		}
	}
	theirs := map[string]any{"spec.replicas": 4}
	w.Has(deployments, "one", theirs)
	w.Patch(widgets, "one", `{"spec":{"image":"redis"}}`)
	w.image("one", "redis")
	w.Is(widgets, "one", "Ready", "True")
	w.Has(deployments, "one", theirs)
	if now := w.restart("one"); now != "now" {
		t.Errorf("the annotation is %q", now)
	}

	// A new process without this history does not react either.
	in.stop()
	since = time.Now()
	w.scale("one", "3")
	w.run(widgetRules("", scaledChild))
	w.Is(widgets, "one", "Ready", "True")
	w.Rest(time.Second)
	for _, r := range w.Writes(since) {
		if r.Resource == "deployments" {
			t.Errorf("a restart caused a %s of the Deployment", r.Verb)
		}
	}
	w.Patch(deployments, "one", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"foreign"}]}}}}`)
	w.image("one", "redis")
	w.Has(deployments, "one", map[string]any{"spec.replicas": 3})
}

// TestIgnoredFieldBehindALaggingWatch changes the rendering before the cache shows that
// an autoscaler owns the field.
func TestIgnoredFieldBehindALaggingWatch(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.wrap = lagging("deployments", 3*time.Second)
	w.run(widgetRules("", scaledChild))
	w.Create(widget("two", "replicas: 2, image: busybox"))
	w.Is(widgets, "two", "Ready", "True")
	w.Rest(4 * time.Second)
	w.scale("two", "4")
	w.Patch(widgets, "two", `{"spec":{"image":"nginx"}}`)
	w.image("two", "nginx")
	w.Has(deployments, "two", map[string]any{"spec.replicas": 4})
	w.Is(widgets, "two", "Ready", "True")
	w.Has(deployments, "two", map[string]any{"spec.replicas": 4})
}

// image waits until the only container of a Deployment has this image.
func (w *world) image(name, image string) {
	w.Helper()
	w.container(name, image, func(c map[string]any) any { return c["image"] })
}

func (w *world) restart(name string) string {
	w.Helper()
	template, _ := w.Get(deployments, name).Object["spec"].(map[string]any)["template"].(map[string]any)
	annotations, _ := template["metadata"].(map[string]any)["annotations"].(map[string]any)
	s, _ := annotations["example.com/restart"].(string)
	return strings.TrimSpace(s)
}
