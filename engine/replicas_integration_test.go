//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	pods   = e2e.GVK("v1", "Pod")
	quotas = e2e.GVK("v1", "ResourceQuota")
)

const podsChild = `  - id: pods
    replicas: self.spec.replicas
    onChange: replace
    maxUnavailable: self.spec.?most.orValue(1)
    template:
      apiVersion: v1
      kind: Pod
      metadata: {generateName: "${self.metadata.name}-"}
      spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: c, image: "${self.spec.image}"}]}
  status:
    names: ${existing(pods).map(p, p.metadata.name)}
`

func podSet(replicas int) string {
	return widget("set", fmt.Sprintf("replicas: %d, image: busybox", replicas))
}

// all returns reconcel's objects of a kind in the world's namespace.
func (w *world) all(kind schema.GroupVersionKind) []unstructured.Unstructured {
	w.Helper()
	list, err := w.Resource(kind).List(w.Context(), metav1.ListOptions{LabelSelector: "reconcel.dev/rule"})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// active returns the Pods that are neither in deletion nor finished.
func (w *world) active() (out []unstructured.Unstructured) {
	w.Helper()
	for _, u := range w.all(pods) {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		if u.GetDeletionTimestamp() == nil && phase != "Failed" && phase != "Succeeded" {
			out = append(out, u)
		}
	}
	return out
}

func (w *world) hasActive(n int) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%d active Pods", n), func() error {
		if found := len(w.active()); found != n {
			return fmt.Errorf("there are %d", found)
		}
		return nil
	})
}

// ends ends a Pod once it is ready, so that the test does not race with the fake node.
func (w *world) ends(name string) {
	w.Helper()
	w.Eventually(name+" to be ready", func() error { return e2e.Condition(w.Get(pods, name), "Ready", "True") })
	w.Patch(pods, name, `{"status":{"phase":"Failed"}}`, "status")
}

// tells waits until the status of a Widget contains a text.
func (w *world) tells(name, text string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("the status of %s to say %q", name, text), func() error {
		conditions, _, _ := unstructured.NestedSlice(w.Get(widgets, name).Object, "status", "conditions")
		if !strings.Contains(fmt.Sprint(conditions), text) && !w.HasNote("Widget", name, text) {
			return fmt.Errorf("it says %v", conditions)
		}
		return nil
	})
}

func TestReplicas(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", podsChild))
	w.Create(podSet(3))
	w.Is(widgets, "set", "Ready", "True")
	w.hasActive(3)
	w.Patch(widgets, "set", `{"spec":{"replicas":20}}`)
	w.hasActive(20)
	w.Is(widgets, "set", "Ready", "True")
	w.Patch(widgets, "set", `{"spec":{"replicas":2}}`)
	w.hasActive(2)
	w.Is(widgets, "set", "Ready", "True")
	gone := w.active()[0]
	w.Delete(pods, gone.GetName())
	w.Eventually("another Pod", func() error {
		now := w.active()
		for _, pod := range now {
			if pod.GetUID() == gone.GetUID() { // The new Pod may have the same name.
				return errors.New("it is still there")
			}
		}
		if len(now) != 2 {
			return fmt.Errorf("there are %d", len(now))
		}
		// Before the new Pod is ready, the primary may still show the status of the old one.
		return errors.Join(e2e.Condition(&now[0], "Ready", "True"), e2e.Condition(&now[1], "Ready", "True"))
	})
	w.Is(widgets, "set", "Ready", "True")
	w.Eventually("the status to name the Pods", func() error {
		names, _, _ := unstructured.NestedStringSlice(w.Get(widgets, "set").Object, "status", "names")
		now := w.active()
		if len(now) != 2 || len(names) != 2 || now[0].GetName() != names[0] || now[1].GetName() != names[1] {
			return fmt.Errorf("it names %v", names)
		}
		return nil
	})
	w.settles()
	w.Quiet(3 * time.Second)
}

// lagging delays the watch events of a resource.
func lagging(resource string, by time.Duration) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/"+resource) && r.URL.Query().Get("watch") == "true" {
				response.Body = delayed(response.Body, by)
			}
			return response, err
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type chunk struct {
	data []byte
	err  error
	due  time.Time
}

type slowBody struct {
	io.Closer
	chunks chan chunk
	rest   chunk
}

func delayed(body io.ReadCloser, by time.Duration) io.ReadCloser {
	s := &slowBody{Closer: body, chunks: make(chan chunk, 10000)}
	go func() {
		for {
			buf := make([]byte, 32<<10)
			n, err := body.Read(buf)
			s.chunks <- chunk{buf[:n], err, time.Now().Add(by)}
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *slowBody) Read(p []byte) (int, error) {
	if len(s.rest.data) == 0 {
		if s.rest.err != nil {
			return 0, s.rest.err
		}
		s.rest = <-s.chunks
		if s.rest.err == nil {
			<-time.After(time.Until(s.rest.due))
		}
	}
	n := copy(p, s.rest.data)
	s.rest.data = s.rest.data[n:]
	if n == 0 {
		return 0, s.rest.err
	}
	return n, nil
}

// TestReplicasBehindALaggingWatch scales up, down and up again before the watch delivers
// any event. There are never more Pods than wanted, and a scale-down never deletes too
// many.
func TestReplicasBehindALaggingWatch(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.wrap = lagging("pods", 5*time.Second)
	w.run(widgetRules("", podsChild))
	w.Create(podSet(0))
	most, fewest := 0, 1000
	reaches := func(n int) {
		t.Helper()
		e2e.Poll(w.T, fmt.Sprintf("%d active Pods", n), e2e.Patience, 5*time.Millisecond, func() error {
			found := len(w.active())
			most, fewest = max(most, found), min(fewest, found)
			if found != n {
				return fmt.Errorf("there are %d", found)
			}
			return nil
		})
	}
	stays := func(n int, d time.Duration) {
		t.Helper()
		for end := time.Now().Add(d); time.Now().Before(end); w.Rest(50 * time.Millisecond) {
			if found := len(w.active()); found != n {
				t.Fatalf("%d Pods are active, not %d", found, n)
			}
		}
	}
	for _, n := range []int{20, 0, 20} {
		w.Patch(widgets, "set", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
		reaches(n)
	}
	if most > 20 {
		t.Errorf("there were %d active Pods", most)
	}
	stays(20, 12*time.Second)
	since := time.Now()
	fewest = 1000
	w.Patch(widgets, "set", `{"spec":{"replicas":5}}`)
	reaches(5)
	if fewest < 5 {
		t.Errorf("there were %d active Pods", fewest)
	}
	stays(5, 12*time.Second)
	deletes, others := 0, 0
	for _, r := range w.Writes(since) {
		switch {
		case r.Resource == "pods" && r.Verb == "delete":
			deletes++
		case r.Resource == "pods":
			others++
		}
	}
	if deletes != 15 || others != 0 {
		t.Errorf("%d Pods were deleted to go from 20 to 5, and there were %d other writes", deletes, others)
	}
	w.Is(widgets, "set", "Ready", "True")
}

func testFinishedPodsAreReplacedAndKept(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", podsChild))
	w.Create(podSet(1))
	w.hasActive(1)
	w.Is(widgets, "set", "Ready", "True")

	w.ends(w.active()[0].GetName())
	w.hasActive(1)
	second := w.active()[0]
	ended := time.Now()
	w.ends(second.GetName())
	w.tells("set", "waits 10 s: 2 Pods finished recently")
	w.hasActive(1)
	if took := time.Since(ended); took < 8*time.Second || took > 15*time.Second {
		t.Errorf("the third Pod came after %s", took)
	}
	if found := len(w.all(pods)); found != 3 {
		t.Errorf("%d Pods are there, with two that have finished", found)
	}

	w.Patch(widgets, "set", `{"spec":{"replicas":8}}`)
	w.Eventually("more Pods", func() error {
		if found := len(w.active()); found < 8 {
			return fmt.Errorf("there are %d", found)
		}
		return nil
	})
	for _, u := range w.active() {
		w.ends(u.GetName())
	}
	w.Eventually("five to be kept", func() error {
		if found := len(w.all(pods)); found != 5 {
			return fmt.Errorf("there are %d", found)
		}
		return nil
	})
	w.tells("set", "waits 80 s: 5 Pods finished recently")
}

// TestQuotaCostsFewRequests asks for a hundred Pods under a quota of three.
func TestQuotaCostsFewRequests(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.Create("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: \"3\"}}\n")
	w.Eventually("the quota to be counted", func() error {
		if _, ok, _ := unstructured.NestedMap(w.Get(quotas, "few").Object, "status", "used"); !ok {
			return errors.New("not yet")
		}
		return nil
	})
	w.run(widgetRules("", podsChild))
	since := time.Now()
	w.Create(podSet(100))
	w.hasActive(3)
	w.Is(widgets, "set", "Stalled", "True")
	w.tells("set", "exceeded quota")
	w.Rest(3 * time.Second)
	tried := 0
	for _, r := range w.Writes(since) {
		if r.Resource == "pods" {
			tried++
		}
	}
	if tried > 15 {
		t.Errorf("%d requests were made for three Pods", tried)
	}
	w.Patch(quotas, "few", `{"spec":{"hard":{"pods":"150"}}}`)
	w.hasActive(100)
	w.Is(widgets, "set", "Ready", "True")
}

const entriesChild = `  - id: entries
    forEach:
    - {name: e, in: self.spec.entries}
    readyWhen: child.data.?state.orValue("") == "good"
    failWhen: child.data.?state.orValue("") == "bad"
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${e}"}
      data: {value: "${self.spec.value}"}
`

func TestManyObjectsAreSummedUp(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", entriesChild))
	w.Create(widget("one", "value: x, entries: [a, b, c, d, e]"))
	w.Has(configs, "one-e", nil)
	w.tells("one", `child "entries": 0 of 5 ready`)
	for _, name := range []string{"a", "b", "c"} {
		w.Patch(configs, "one-"+name, `{"data":{"state":"good"}}`)
	}
	w.tells("one", `child "entries": 3 of 5 ready`)
	w.Patch(configs, "one-d", `{"data":{"state":"bad"}}`)
	w.tells("one", "ConfigMap/"+w.Namespace+"/one-d")
	w.Is(widgets, "one", "Stalled", "True")
	for _, name := range []string{"d", "e"} {
		w.Patch(configs, "one-"+name, `{"data":{"state":"good"}}`)
	}
	w.Is(widgets, "one", "Ready", "True")
	w.Patch(widgets, "one", `{"spec":{"entries":["a","b"]}}`)
	w.Lacks(configs, "one-e")
	w.Has(configs, "one-a", nil)
	w.Is(widgets, "one", "Ready", "True")
}

// TestOneBadElementHoldsBackNoOther has an element whose name belongs to a foreign
// object, and one that the API server rejects.
func TestOneBadElementHoldsBackNoOther(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.run(widgetRules("", `  - id: entries
    forEach:
    - {name: e, in: self.spec.entries}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${e}"}
      data: {value: "${e == 'a' ? dyn(7) : dyn('x')}"}
`))
	w.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one-b}\n")
	w.Create(widget("one", "entries: [a, b, c, d, e, f, g]"))
	for _, name := range []string{"c", "d", "e", "f", "g"} {
		w.Has(configs, "one-"+name, map[string]any{"data.value": "x"})
	}
	w.Is(widgets, "one", "Stalled", "True")
	if w.Get(configs, "one-a") != nil || len(w.Get(configs, "one-b").GetLabels()) > 0 {
		t.Error("what cannot be is there")
	}
}
