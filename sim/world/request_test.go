package world_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/sim"
	"reconcel/sim/world"
)

// request sets the annotation of the Foo that asks to reconcile it now.
func request(t *testing.T, w *world.World, value string) {
	t.Helper()
	change(t, w, fooResource, "example-foo", fmt.Sprintf(`{"metadata":{"annotations":{"reconcel.dev/reconcile-at":%q}}}`, value))
}

// changed returns the writes of the controller since then that changed something, but those of the status, which follows the
// clock of the world.
func changed(writes []sim.Write) (all []string) {
	for _, write := range writes {
		if write.By == world.Controller && write.Changed && write.Subresource == "" {
			all = append(all, write.Kind.Kind+" "+write.Name)
		}
	}
	slices.Sort(all)
	return all
}

// requestEvents returns the number of Events that tell of a request.
func requestEvents(w *world.World) (n int) {
	for _, e := range w.Cluster().Events() {
		if e.Reason == "ReconcileRequested" {
			n++
		}
	}
	return n
}

// TestRequestEndsABackoff fails a write for five minutes, so that it waits longer and longer. A request makes one attempt at once,
// and the same request no other one.
func TestRequestEndsABackoff(t *testing.T) {
	for _, write := range []string{"patch configmaps", "patch services", "patch leases", "delete serviceaccounts", "patch foos", "patch foos status"} {
		for _, text := range []string{"port", "denied"} {
			t.Run(write+" "+text, func(t *testing.T) {
				w, u := unsteadyWorld(t, unsteadyRules, slog.DiscardHandler)
				u.fails, u.text = write, varying[text]
				change(t, w, fooResource, "example-foo", `{"spec":{"replicas":4}}`)
				advance(t, w, 5*time.Minute)
				request(t, w, "first")
				before, since := len(u.attempts), w.Now()
				settle(t, w)
				at := slices.Clone(u.attempts[before:])
				if len(at) == 0 || at[0].Sub(since) > time.Second {
					t.Fatalf("the attempts after the request at %v are at %v", since, at)
				}
				advance(t, w, 5*time.Minute)
				before = len(u.attempts)
				for i := range 20 {
					change(t, w, fooResource, "example-foo", fmt.Sprintf(`{"metadata":{"annotations":{"reconcel.dev/nudge":"%d"}}}`, i))
					settle(t, w)
				}
				if n := len(u.attempts) - before; n > 6 {
					t.Errorf("the same request makes %d attempts", n)
				}
				u.fails = ""
				request(t, w, "second")
				settle(t, w)
				if got := ready(w); !strings.HasPrefix(got, "True") {
					t.Errorf("Ready is %s although the API server answers, and the Foo asks for it", got)
				}
			})
		}
	}
}

// TestRequestEndsAConflictLoop has another writer that changes a child again and again. The repair that waits is made at once.
func TestRequestEndsAConflictLoop(t *testing.T) {
	w, _ := unsteadyWorld(t, unsteadyRules, slog.DiscardHandler)
	data := func() string {
		value, _, _ := unstructured.NestedString(w.Cluster().Find(configMapKind, "default", "a").Object, "data", "replicas")
		return value
	}
	for i := 0; !strings.Contains(ready(w), "Contested"); i++ {
		if i == 30 {
			t.Fatalf("Ready is %s after %d changes", ready(w), i)
		}
		change(t, w, configMapResource, "a", fmt.Sprintf(`{"data":{"replicas":"%d"}}`, 100+i))
		settle(t, w)
	}
	if got := data(); got == "1" {
		t.Fatal("the repair does not wait")
	}
	request(t, w, "now")
	settle(t, w)
	if got := data(); got != "1" {
		t.Errorf("the other writer's value is still %s", got)
	}
	if got := ready(w); !strings.HasPrefix(got, "True") {
		t.Errorf("Ready is %s", got)
	}
}

// TestRequestWritesOnce counts what a request writes: each child once, and the Foo never. Nothing follows at rest, after a restart
// or after another change of the Foo.
func TestRequestWritesOnce(t *testing.T) {
	w, _ := unsteadyWorld(t, unsteadyRules, slog.DiscardHandler)
	change(t, w, fooResource, "example-foo", `{"spec":{"replicas":4}}`)
	advance(t, w, time.Minute)
	leases := 0
	for _, u := range w.Objects() {
		if u.GetKind() == "Lease" {
			leases++
		}
	}
	before := len(w.Writes())
	request(t, w, "2030-01-01T00:00:00Z")
	settle(t, w)
	got := changed(w.Writes()[before:])
	if len(got) != 2+leases || leases != 3 || got[0] != "ConfigMap a" || got[len(got)-1] != "Service new" {
		t.Errorf("the request writes %q", got)
	}
	if n := requestEvents(w); n != 1 {
		t.Errorf("%d Events tell of the request", n)
	}
	before = len(w.Writes())
	for _, step := range []func(){
		func() { advance(t, w, time.Hour) },
		func() {
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		func() { request(t, w, "2030-01-01T00:00:00Z") },
		func() { change(t, w, fooResource, "example-foo", `{"metadata":{"labels":{"nudge":"1"}}}`) },
		func() { request(t, w, "") },
		func() {
			change(t, w, fooResource, "example-foo", `{"metadata":{"annotations":{"reconcel.dev/reconcile-at":null}}}`)
		},
	} {
		step()
		settle(t, w)
	}
	for _, write := range w.Writes()[before:] {
		if write.By == world.Controller {
			t.Errorf("%s of %s %s %s follows", write.Verb, write.Kind.Kind, write.Name, write.Subresource)
		}
	}
	if n := requestEvents(w); n != 1 {
		t.Errorf("%d Events tell of the request in the end", n)
	}
}

// TestRequestKilledAtEachWrite kills the controller at each write of a request. The next one does the rest, and writes nothing twice.
func TestRequestKilledAtEachWrite(t *testing.T) {
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", "", configMap("a"), configMap("b"), configMap("c")))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	before := len(w.Writes())
	w.Wrap(dying(&life{over: true}))
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	request(t, w, "now")
	for lives := 0; ; lives++ {
		if lives == 30 {
			t.Fatal("it does not come to rest")
		}
		l := &life{committed: lives%2 == 1}
		w.Wrap(dying(l))
		if err := w.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		advance(t, w, time.Second)
		if !l.over {
			break
		}
	}
	if got, want := changed(w.Writes()[before:]), []string{"ConfigMap a", "ConfigMap b", "ConfigMap c"}; !slices.Equal(got, want) {
		t.Errorf("the request writes %q, want %q", got, want)
	}
}

// TestRequestRunsNoJobAgain asks twice to reconcile a Foo whose Job has finished: once while the Job exists, and once when it is
// gone.
func TestRequestRunsNoJobAgain(t *testing.T) {
	s := &doneStage{T: t, w: load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", "", job))}
	jobs := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	put(t, s.w, "../../examples/foo/foo.yaml")
	settle(t, s.w)
	s.ends("Complete", `"succeeded":1`)
	first := s.has(jobs, "job")
	request(t, s.w, "first")
	settle(t, s.w)
	if s.has(jobs, "job").GetUID() != first.GetUID() {
		t.Error("the Job is another one")
	}
	s.delete(jobs, "job")
	request(t, s.w, "second")
	settle(t, s.w)
	s.lacks(jobs, "job")
}

// TestRequestOfOneOwner has two Foos that share a ConfigMap, which another writer has broken. Each asks to reconcile it, at
// different times. It is repaired each time, and they do not write against each other.
func TestRequestOfOneOwner(t *testing.T) {
	w := shareIn(t)
	w.create("one", "common")
	w.create("two", "common")
	settle(t, w.World)
	shared := func() *unstructured.Unstructured { return w.Cluster().Find(configMapKind, "default", "common") }
	if shared() == nil {
		t.Fatalf("there is no shared ConfigMap: %s", configMaps(w.World))
	}
	for i, foo := range []string{"one", "two", "one"} {
		before := len(w.Writes())
		w.patch(foo, fmt.Sprintf(`{"metadata":{"annotations":{"reconcel.dev/reconcile-at":"%d"}}}`, i), "common")
		advance(t, w.World, 10*time.Minute)
		applies := 0
		for _, write := range w.Writes()[before:] {
			if write.By == world.Controller && write.Name == "common" {
				applies++
			}
		}
		if applies != 1 {
			t.Errorf("the request of %s applies the shared ConfigMap %d times", foo, applies)
		}
	}
	if got := shared().GetAnnotations()[rules.AnnotationReconciledAt]; got != "" {
		t.Errorf("the shared ConfigMap has the request %q", got)
	}
}

// TestRequestOfOtherForms makes requests of a bundle, with a long value, and before the objects exist.
func TestRequestOfOtherForms(t *testing.T) {
	const head = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	mark := func(w *world.World, name string) string {
		return w.Cluster().Find(configMapKind, "default", name).GetAnnotations()[rules.AnnotationReconciledAt]
	}
	t.Run("a bundle", func(t *testing.T) {
		w := load(t, head+"- name: all\n  for: cluster\n  allow: {namespaces: [default]}\n  children:\n"+
			strings.Replace(configMap("a"), "metadata: {", "metadata: {namespace: default, ", 1))
		settle(t, w)
		bundle := w.Cluster().Client("someone").Resource(configMapResource).Namespace("kube-system")
		u, err := bundle.Get(t.Context(), "reconcel-bundle-all", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		annotations := u.GetAnnotations()
		annotations[rules.AnnotationReconcileAt] = "now"
		u.SetAnnotations(annotations)
		if _, err := bundle.Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
		if got := mark(w, "a"); got != "now" {
			t.Errorf("the child has the request %q", got)
		}
	})
	t.Run("a long value", func(t *testing.T) {
		w := load(t, head+fooRule("one", "", configMap("a")))
		put(t, w, "../../examples/foo/foo.yaml")
		settle(t, w)
		request(t, w, strings.Repeat("x", 200_000))
		settle(t, w)
		first := mark(w, "a")
		if !strings.HasPrefix(first, "sha256:") || len(first) > 64 {
			t.Errorf("the child has the request %q", first)
		}
		request(t, w, strings.Repeat("y", 200_000))
		settle(t, w)
		if got := mark(w, "a"); got == first {
			t.Error("another long value is the same request")
		}
	})
	t.Run("before the objects exist", func(t *testing.T) {
		adopted := strings.Replace(configMap("b"), "    template", "    ifExists: adopt\n    onChange: keep\n    template", 1)
		w := load(t, head+fooRule("one", "", configMap("a"), adopted))
		existing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "b", "namespace": "default"}}}
		if _, err := w.Cluster().Put(existing); err != nil {
			t.Fatal(err)
		}
		foo := &unstructured.Unstructured{Object: objects(t, "../../examples/foo/foo.yaml")[0]}
		foo.SetNamespace("default")
		foo.SetAnnotations(map[string]string{rules.AnnotationReconcileAt: "early"})
		if _, err := w.Cluster().Put(foo); err != nil {
			t.Fatal(err)
		}
		advance(t, w, time.Minute)
		if got := ready(w); !strings.HasPrefix(got, "True") {
			t.Errorf("Ready is %s", got)
		}
		created := 0
		for _, write := range w.Writes() {
			if write.By == world.Controller && write.Name == "a" {
				created++
			}
		}
		if created != 1 || mark(w, "a") != "early" {
			t.Errorf("the child is written %d times, for the request %q", created, mark(w, "a"))
		}
	})
}

// TestRequestsWithoutEnd has a writer that asks for another reconciliation every 100 milliseconds. Its children are written as often as
// if their rendering changed that often. The last request is answered in the end.
func TestRequestsWithoutEnd(t *testing.T) {
	w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+fooRule("one", "", configMap("a")))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	before, began := len(w.Writes()), w.Now()
	last := ""
	for w.Now().Sub(began) < 40*time.Second {
		last = w.Now().Format(time.RFC3339Nano)
		request(t, w, last)
		advance(t, w, 100*time.Millisecond)
	}
	if n := len(changed(w.Writes()[before:])); n < 50 || n > 110 {
		t.Errorf("%d writes in %s", n, w.Now().Sub(began))
	}
	advance(t, w, time.Minute)
	if got := w.Cluster().Find(configMapKind, "default", "a").GetAnnotations()[rules.AnnotationReconciledAt]; got != last {
		t.Errorf("the child has the request %q, want %q", got, last)
	}
}

// TestRequestThatIsTakenBack removes a request that was answered. Nothing follows, neither at rest nor after a restart.
func TestRequestThatIsTakenBack(t *testing.T) {
	w, _ := unsteadyWorld(t, unsteadyRules, slog.DiscardHandler)
	request(t, w, "now")
	settle(t, w)
	before := len(w.Writes())
	change(t, w, fooResource, "example-foo", `{"metadata":{"annotations":{"reconcel.dev/reconcile-at":null}}}`)
	settle(t, w)
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	advance(t, w, time.Minute)
	for _, write := range w.Writes()[before:] {
		if write.By == world.Controller {
			t.Errorf("%s of %s %s %s follows", write.Verb, write.Kind.Kind, write.Name, write.Subresource)
		}
	}
}
