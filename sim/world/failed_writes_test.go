package world_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/sim/world"
)

// change patches an object in the name of another writer.
func change(t *testing.T, w *world.World, resource schema.GroupVersionResource, name, body string) {
	t.Helper()
	_, err := w.Cluster().Client("someone").Resource(resource).Namespace("default").
		Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// ready returns the reason and the message of the Foo's condition.
func ready(w *world.World) string {
	foo := w.Cluster().Find(fooKind, "default", "example-foo")
	return condition(foo, "Ready") + ": " + message(foo.Object, "Ready")
}

var configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// denial is the rejection of an admission webhook.
func denial(text string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "one", fmt.Errorf("admission webhook \"w\" denied the request: %s", text))
}

// TestRejectionQuotesTheNewValue rejects two values that the user sets one after another, which look like two ids of requests.
func TestRejectionQuotesTheNewValue(t *testing.T) {
	for _, write := range []string{"patch configmaps", "patch foos"} {
		t.Run(write, func(t *testing.T) {
			log := &strings.Builder{}
			w, u := unsteadyWorld(t, unsteadyRules, slog.NewTextHandler(log, nil))
			for i, digit := range []string{"a", "b"} {
				image := "app@sha256:" + strings.Repeat(digit+"1", 32)
				u.fails, u.text = write, func(n int) error { return denial(fmt.Sprintf("%s is not signed, request_id=%d", image, n)) }
				change(t, w, fooResource, "example-foo", fmt.Sprintf(`{"spec":{"replicas":%d}}`, 2+i))
				settle(t, w)
				if got := ready(w); !strings.Contains(got, image) {
					t.Errorf("Ready is %s, want %s", got, image)
				}
				if !strings.Contains(log.String(), image) {
					t.Errorf("the log does not have %s:\n%s", image, log)
				}
			}
		})
	}
}

// TestFailedRepairIsNoContest has a busy child, whose state changes each second, while its repair fails or is rejected.
func TestFailedRepairIsNoContest(t *testing.T) {
	for name, text := range map[string]func(int) error{"failed": varying["port"], "rejected": varying["denied"]} {
		t.Run(name, func(t *testing.T) {
			w, u := unsteadyWorld(t, unsteadyRules, slog.DiscardHandler)
			u.fails, u.text = "patch configmaps", text
			change(t, w, configMapResource, "a", `{"data":{"replicas":"7"}}`)
			for i := range 90 {
				advance(t, w, time.Second)
				change(t, w, configMapResource, "a", fmt.Sprintf(`{"metadata":{"annotations":{"busy":"%d"}}}`, i))
				if got := ready(w); strings.Contains(got, "Contested") {
					t.Fatalf("after %d seconds, Ready is %s", i, got)
				}
			}
			if n := len(u.attempts); name == "failed" && n > 17 {
				t.Errorf("%d attempts in 90 seconds", n)
			}
		})
	}
}

// TestFailedDeletionForRemovedRule fails the deletion of an object of a removed rule, while events of a Foo that is ready come.
func TestFailedDeletionForRemovedRule(t *testing.T) {
	log := &strings.Builder{}
	begin := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	stays := fooRule("stays", "  status: {availableReplicas: '${self.spec.replicas}'}\n")
	w, u := unsteadyWorld(t, begin+stays+goes("gone", "", configMap("a")), slog.NewTextHandler(log, nil))
	u.fails, u.text = "delete configmaps", varying["port"]
	log.Reset()
	reload(t, w, stays)
	for i := range 120 {
		advance(t, w, time.Second)
		change(t, w, fooResource, "example-foo", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i))
	}
	if n := len(u.attempts); n < 5 || n > 20 {
		t.Errorf("%d attempts in two minutes", n)
	}
	if n := strings.Count(log.String(), "reconcile failed"); n != 1 {
		t.Errorf("%d lines of the log:\n%s", n, log)
	}
}

// leaseRules have two Leases in one collection.
const leaseRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: many
    when: self.spec.replicas > 1
    forEach: {name: "['a', 'b']"}
    template: {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: "${name}"}}
`

var (
	leaseKind     = schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}
	leaseResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// TestFailedCreationBlocksNoOther fails the creation of one object for ever. The other one of its child is created, and created
// again after it was deleted.
func TestFailedCreationBlocksNoOther(t *testing.T) {
	w, u := unsteadyWorld(t, leaseRules, slog.DiscardHandler)
	u.fails, u.named = "patch leases", func(name string) error {
		if name == "a" {
			return fmt.Errorf("timeout of %s", name)
		}
		return nil
	}
	change(t, w, fooResource, "example-foo", `{"spec":{"replicas":2}}`)
	advance(t, w, 2*time.Minute)
	if w.Cluster().Find(leaseKind, "default", "b") == nil {
		t.Fatal("b is not created while a fails")
	}
	advance(t, w, 3*time.Minute)
	for range 3 {
		if err := w.Cluster().Client("someone").Resource(leaseResource).Namespace("default").Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
		if w.Cluster().Find(leaseKind, "default", "b") == nil {
			t.Fatal("b waits for the backoff of a")
		}
	}
}

// TestFailuresTakeTurns has one object of a collection that can never be created. Another one, whose creation failed once, or which
// could always be created, is created nevertheless.
func TestFailuresTakeTurns(t *testing.T) {
	once := func(name string) func(string, int) bool {
		return func(object string, before int) bool { return object == name && before == 0 }
	}
	never := func(string, int) bool { return false }
	for name, c := range map[string]struct {
		fails string // verb and resource
		err   error
		also  func(object string, before int) bool // which object fails beside "a", after how many failures of its own
		taken bool                                 // another owner has the name "a"
	}{
		"failure of the other":          {"patch leases", fmt.Errorf("timeout"), once("b"), false},
		"failure of the last":           {"patch leases", fmt.Errorf("timeout"), once("e"), false},
		"quota":                         {"patch leases", quotaExceeded(), once("b"), false},
		"name that cannot be read":      {"get leases", apierrors.NewInternalError(fmt.Errorf("unable to decrypt")), never, true},
		"namespace that does not exist": {"patch leases", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "missing"), never, false},
	} {
		t.Run(name, func(t *testing.T) {
			rules := strings.Replace(leaseRules, "['a', 'b']", "['a', 'b', 'c', 'd', 'e']", 1)
			w, u := unsteadyWorld(t, rules, slog.DiscardHandler)
			if c.taken {
				lease := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
					"metadata": map[string]any{"name": "a", "namespace": "default"}}}
				if _, err := w.Cluster().Put(lease); err != nil {
					t.Fatal(err)
				}
			}
			failed := map[string]int{}
			u.fails, u.named = c.fails, func(object string) error {
				if object != "a" && !c.also(object, failed[object]) {
					return nil
				}
				failed[object]++
				return c.err
			}
			change(t, w, fooResource, "example-foo", `{"spec":{"replicas":2}}`)
			advance(t, w, 10*time.Minute)
			for _, object := range []string{"b", "c", "d", "e"} {
				if w.Cluster().Find(leaseKind, "default", object) == nil {
					t.Errorf("%s is not created while a fails; failures by object: %v", object, failed)
				}
			}
			if n := len(u.attempts); n > 60 {
				t.Errorf("%d attempts in ten minutes", n)
			}
			if got := ready(w); !strings.Contains(got, `child "many"[0]`) {
				t.Errorf("Ready is %s, want it to tell why a fails", got)
			}
		})
	}
}

// TestConflictLoopBlocksNoOther has another writer delete one object of a collection again and again. An object that is added is
// created nevertheless.
func TestConflictLoopBlocksNoOther(t *testing.T) {
	rules := strings.Replace(leaseRules, "['a', 'b']", "self.spec.replicas > 2 ? ['a', 'b'] : ['a']", 1)
	w, _ := unsteadyWorld(t, rules, slog.DiscardHandler)
	change(t, w, fooResource, "example-foo", `{"spec":{"replicas":2}}`)
	deleteA := func() {
		err := w.Cluster().Client("someone").Resource(leaseResource).Namespace("default").Delete(t.Context(), "a", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	for range 60 {
		advance(t, w, time.Second)
		deleteA()
	}
	if got := ready(w); !strings.Contains(got, "Contested") {
		t.Fatalf("Ready is %s", got)
	}
	change(t, w, fooResource, "example-foo", `{"spec":{"replicas":3}}`)
	settle(t, w)
	if w.Cluster().Find(leaseKind, "default", "b") == nil {
		t.Errorf("b waits for a, which another writer deletes; Ready is %s", ready(w))
	}
}

// quotaExceeded is the rejection of an object that a quota has no room for.
func quotaExceeded() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "one", fmt.Errorf("exceeded quota: count, requested: 1, used: 4, limited: 4"))
}

// TestStoppedCreationsTellWhyTheyFailed fails all creations of a collection, each for another reason. The condition names one of
// them, and the same one all the time.
func TestStoppedCreationsTellWhyTheyFailed(t *testing.T) {
	w, u := unsteadyWorld(t, leaseRules, slog.DiscardHandler)
	u.fails, u.named = "patch leases", func(object string) error {
		return fmt.Errorf("timeout of %s", object)
	}
	change(t, w, fooResource, "example-foo", `{"spec":{"replicas":2}}`)
	advance(t, w, time.Minute)
	written := len(w.Writes())
	for range 60 {
		advance(t, w, 10*time.Second)
		if got := ready(w); !strings.Contains(got, "timeout of a") {
			t.Fatalf("Ready is %s, want the failure of a", got)
		}
	}
	if n := len(w.Writes()) - written; n > 0 {
		t.Errorf("%d writes of the status", n)
	}
	u.fails = "get leases"
	advance(t, w, time.Minute)
	if got := ready(w); !strings.HasPrefix(got, "True") {
		t.Errorf("Ready is %s afterwards", got)
	}
}

// TestMendedMetadataEndsARejection rejects each write of a Foo with a label. When the user removes the label, the finalizer, or the
// patch, is written at once.
func TestMendedMetadataEndsARejection(t *testing.T) {
	finalizer := strings.Replace(fooRule("one", "  teardown: ordered\n", configMap("a")), "Foo}", "Foo, when: self.spec.replicas > 1}", 1)
	for name, rule := range map[string]string{
		"finalizer": finalizer,
		"patch":     fooRule("one", "  patch: {metadata: {annotations: {replicas: '${string(self.spec.replicas)}'}}}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			w, u := unsteadyWorld(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule, slog.DiscardHandler)
			change(t, w, fooResource, "example-foo", `{"metadata":{"labels":{"team":"none"}}}`)
			u.fails, u.named = "patch foos", func(string) error {
				if w.Cluster().Find(fooKind, "default", "example-foo").GetLabels()["team"] == "none" {
					return denial("there is no such team")
				}
				return nil
			}
			change(t, w, fooResource, "example-foo", `{"spec":{"replicas":2}}`)
			advance(t, w, time.Minute)
			if got := ready(w); !strings.Contains(got, "no such team") {
				t.Fatalf("Ready is %s", got)
			}
			change(t, w, fooResource, "example-foo", `{"metadata":{"labels":{"team":"some"}}}`)
			settle(t, w)
			if got := ready(w); !strings.HasPrefix(got, "True") {
				t.Errorf("Ready is %s after the change of the label", got)
			}
		})
	}
}

// TestWorstFailedDeletion fails two deletions of one rule. One may succeed later, and the status tells of the other.
func TestWorstFailedDeletion(t *testing.T) {
	rule := fooRule("one", "", configMap("a"), configMap("b"))
	rule = strings.ReplaceAll(rule, "    template:", "    when: self.spec.replicas == 1\n    template:")
	w, u := unsteadyWorld(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule, slog.DiscardHandler)
	u.fails, u.named = "delete configmaps", func(name string) error {
		if name == "a" {
			return fmt.Errorf("timeout")
		}
		return denial("it is protected")
	}
	change(t, w, fooResource, "example-foo", `{"spec":{"replicas":2}}`)
	advance(t, w, time.Minute)
	if got := ready(w); !strings.Contains(got, "protected") {
		t.Errorf("Ready is %s", got)
	}
}

// TestFailedInventoryIsLoggedOnce fails the update of the inventory that forgets a kind, for one reason and then for another one.
func TestFailedInventoryIsLoggedOnce(t *testing.T) {
	log := &strings.Builder{}
	service := "  - id: s\n    template: {apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}\n"
	begin := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	w, u := unsteadyWorld(t, begin+fooRule("one", "", configMap("a"), service), slog.NewTextHandler(log, nil))
	u.fails, u.text = "delete services", varying["denied"]
	reload(t, w, fooRule("one", "", configMap("a")))
	u.fails, u.text = "update configmaps", varying["port"]
	for i := range 60 {
		advance(t, w, 10*time.Second)
		if i == 30 {
			u.text = func(int) error { return fmt.Errorf("etcdserver: mvcc: database space exceeded") }
		}
	}
	if n := strings.Count(log.String(), "inventory update failed"); n != 2 {
		t.Errorf("%d lines in ten minutes, want one for each reason:\n%s", n, log)
	}
	u.fails = ""
	advance(t, w, time.Minute)
	if !strings.Contains(log.String(), "orphaned objects of a kind deleted") {
		t.Errorf("the kind is not forgotten afterwards:\n%s", log)
	}
}
