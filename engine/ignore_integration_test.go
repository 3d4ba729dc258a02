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

// scale writes the replicas of a Deployment as an autoscaler does.
func (w *world) scale(name, replicas string) {
	w.Helper()
	_, err := w.resource(deployments).Patch(w.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":`+replicas+`}}`),
		metav1.PatchOptions{FieldManager: "autoscaler"}, "scale")
	if err != nil {
		w.Fatal(err)
	}
}

func TestIgnoredFields(t *testing.T) {
	w := newWorld(t)
	w.crd(widgetCRD)
	in := w.run(widgetRules("", scaledChild))
	w.create(widget("one", "replicas: 2, image: busybox"))
	w.has(deployments, "one", map[string]any{"spec.replicas": 2})
	w.is(widgets, "one", "Ready", "True")

	// As long as they are ours alone, an update must not reset them.
	w.patch(widgets, "one", `{"spec":{"image":"nginx","replicas":7}}`)
	w.image("one", "nginx")
	w.is(widgets, "one", "Ready", "True")
	w.has(deployments, "one", map[string]any{"spec.replicas": 2})
	w.patch(deployments, "one", `{"metadata":{"labels":{"reconcel.dev/child":"other"}}}`)
	w.eventually("the label to be back", func() error {
		if label := w.get(deployments, "one").GetLabels()["reconcel.dev/child"]; label != "web" {
			return fmt.Errorf("it is %q", label)
		}
		return nil
	})
	w.has(deployments, "one", map[string]any{"spec.replicas": 2})
	w.is(widgets, "one", "Ready", "True")

	since := time.Now()
	w.scale("one", "4")
	w.patch(deployments, "one", `{"spec":{"template":{"metadata":{"annotations":{"example.com/restart":"now"}}}}}`)
	w.is(widgets, "one", "Ready", "True")
	w.rest(2 * time.Second)
	for _, r := range w.writes(since) {
		if r.Resource == "deployments" {
			t.Errorf("an ignored field caused a %s of the Deployment", r.Verb)
		}
	}
	theirs := map[string]any{"spec.replicas": 4}
	w.has(deployments, "one", theirs)
	w.patch(widgets, "one", `{"spec":{"image":"redis"}}`)
	w.image("one", "redis")
	w.is(widgets, "one", "Ready", "True")
	w.has(deployments, "one", theirs)
	if now := w.restart("one"); now != "now" {
		t.Errorf("the annotation is %q", now)
	}

	// Nor does a process care that knows nothing of this one.
	in.stop()
	since = time.Now()
	w.scale("one", "3")
	w.run(widgetRules("", scaledChild))
	w.is(widgets, "one", "Ready", "True")
	w.rest(time.Second)
	for _, r := range w.writes(since) {
		if r.Resource == "deployments" {
			t.Errorf("a restart caused a %s of the Deployment", r.Verb)
		}
	}
	w.patch(deployments, "one", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"foreign"}]}}}}`)
	w.image("one", "redis")
	w.has(deployments, "one", map[string]any{"spec.replicas": 3})
}

// TestIgnoredFieldBehindALaggingWatch changes the rendering when the cache does
// not know yet that an autoscaler has taken the field over.
func TestIgnoredFieldBehindALaggingWatch(t *testing.T) {
	w := newWorld(t)
	w.crd(widgetCRD)
	w.wrap = lagging("deployments", 3*time.Second)
	w.run(widgetRules("", scaledChild))
	w.create(widget("two", "replicas: 2, image: busybox"))
	w.is(widgets, "two", "Ready", "True")
	w.rest(4 * time.Second)
	w.scale("two", "4")
	w.patch(widgets, "two", `{"spec":{"image":"nginx"}}`)
	w.image("two", "nginx")
	w.has(deployments, "two", map[string]any{"spec.replicas": 4})
	w.is(widgets, "two", "Ready", "True")
	w.has(deployments, "two", map[string]any{"spec.replicas": 4})
}

// image waits until the only container of a Deployment has an image.
func (w *world) image(name, image string) {
	w.Helper()
	w.container(name, image, func(c map[string]any) any { return c["image"] })
}

func (w *world) restart(name string) string {
	w.Helper()
	template, _ := w.get(deployments, name).Object["spec"].(map[string]any)["template"].(map[string]any)
	annotations, _ := template["metadata"].(map[string]any)["annotations"].(map[string]any)
	s, _ := annotations["example.com/restart"].(string)
	return strings.TrimSpace(s)
}
