package world_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/sim/world"
)

// unsteady is a cluster that fails one kind of request, each time with another text.
type unsteady struct {
	dynamic.Interface
	world    *world.World
	fails    string // verb and resource; "": none
	text     func(n int) error
	named    func(name string) error // the error of the write of one object; nil: text
	attempts []time.Time
	texts    []string
}

// fail returns the error of a write, or nil.
func (u *unsteady) fail(write, name string) error {
	if write != u.fails {
		return nil
	}
	var err error
	if u.named == nil {
		err = u.text(len(u.attempts))
	} else if err = u.named(name); err == nil {
		return nil
	}
	u.attempts, u.texts = append(u.attempts, u.world.Now()), append(u.texts, err.Error())
	return err
}

func (u *unsteady) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return unsteadyKind{u.Interface.Resource(gvr), gvr.Resource, u}
}

type unsteadyKind struct {
	dynamic.NamespaceableResourceInterface
	resource string
	unsteady *unsteady
}

func (k unsteadyKind) Namespace(name string) dynamic.ResourceInterface {
	return unsteadyObjects{k.NamespaceableResourceInterface.Namespace(name), k.resource, k.unsteady}
}

type unsteadyObjects struct {
	dynamic.ResourceInterface
	resource string
	unsteady *unsteady
}

func (o unsteadyObjects) Patch(ctx context.Context, name string, t types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := o.unsteady.fail(strings.Join(append([]string{"patch", o.resource}, subresources...), " "), name); err != nil {
		return nil, err
	}
	return o.ResourceInterface.Patch(ctx, name, t, body, options, subresources...)
}

func (o unsteadyObjects) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := o.unsteady.fail("get "+o.resource, name); err != nil {
		return nil, err
	}
	return o.ResourceInterface.Get(ctx, name, options, subresources...)
}

func (o unsteadyObjects) Update(ctx context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := o.unsteady.fail("update "+o.resource, object.GetName()); err != nil {
		return nil, err
	}
	return o.ResourceInterface.Update(ctx, object, options, subresources...)
}

func (o unsteadyObjects) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	if err := o.unsteady.fail("delete "+o.resource, name); err != nil {
		return err
	}
	return o.ResourceInterface.Delete(ctx, name, options, subresources...)
}

// varying are errors whose texts differ each time.
var varying = map[string]func(n int) error{
	"port": func(n int) error {
		return fmt.Errorf(`Patch "https://10.0.0.2:443/api": read tcp 10.0.0.1:%d->10.0.0.2:443: read: connection reset by peer`, 40512+7*n)
	},
	"request id": func(n int) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadGateway,
			Message: fmt.Sprintf("upstream unavailable after %d.%03ds, request id req-%x (trace 4bf92f3577b34da6a3ce929d0e%06x)", 1+n%9, n, 7919*n, n)}}
	},
	"both in turn": func(n int) error {
		if n%2 == 0 {
			return fmt.Errorf("http2: client connection lost: 10.0.0.1:%d", 40512+n)
		}
		return apierrors.NewInternalError(fmt.Errorf("failed calling webhook, uid %08x-0000-4000-8000-%012x", n, n))
	},
	"denied": func(n int) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "one", fmt.Errorf("admission webhook \"w\" denied the request: quota service: request_id=%d", 31*n))
	},
}

// unsteadyRules have a child, many children, a patch and a status for Foos.
const unsteadyRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {replicas: "${string(self.spec.replicas)}"}}
  - id: new
    when: self.spec.replicas == 4
    template: {apiVersion: v1, kind: Service, metadata: {name: new}, spec: {ports: [{port: 80}]}}
  - id: gone
    when: self.spec.replicas == 1
    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: gone}}
  - id: many
    replicas: "self.spec.replicas == 4 ? 3 : 0"
    template: {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {generateName: many-}}
  patch: {metadata: {labels: {replicas: "${string(self.spec.replicas)}"}}}
  status: {availableReplicas: "${self.spec.replicas}"}
`

// TestErrorsOfVaryingTexts fails a write for ten minutes, each time with another port or request id. The write is repeated
// with the backoff, and neither status, Events nor log repeat the error.
func TestErrorsOfVaryingTexts(t *testing.T) {
	for _, write := range []string{"patch configmaps", "patch services", "patch leases", "delete serviceaccounts", "patch foos", "patch foos status"} {
		for text, err := range varying {
			t.Run(write+" "+text, func(t *testing.T) { failsVarying(t, write, err) })
		}
	}
}

// TestFinalizerOfVaryingErrors fails the edit that adds a finalizer, which a child in another namespace needs.
func TestFinalizerOfVaryingErrors(t *testing.T) {
	rules := strings.Replace(unsteadyRules, "  patch: {metadata: {labels: {replicas: \"${string(self.spec.replicas)}\"}}}\n", "", 1)
	rules = strings.Replace(rules, "  children:", "  allow: {namespaces: [kube-public]}\n  children:", 1)
	rules = strings.Replace(rules, "kind: Service, metadata: {name: new}, spec: {ports: [{port: 80}]}", "kind: ConfigMap, metadata: {name: new, namespace: kube-public}", 1)
	for text, err := range varying {
		t.Run(text, func(t *testing.T) { failsVaryingWith(t, rules, "patch foos", err) })
	}
}

// unsteadyWorld has a Foo that is ready.
func unsteadyWorld(t *testing.T, rules string, log slog.Handler) (*world.World, *unsteady) {
	t.Helper()
	w := loadWith(t, rules, world.Options{Log: slog.New(log)})
	foo := &unstructured.Unstructured{Object: objects(t, "../../examples/foo/foo.yaml")[0]}
	foo.SetNamespace("default")
	if _, err := w.Cluster().Put(foo); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	u := &unsteady{world: w}
	w.Wrap(func(c dynamic.Interface) dynamic.Interface { u.Interface = c; return u })
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	return w, u
}

func failsVarying(t *testing.T, write string, text func(int) error) {
	t.Helper()
	failsVaryingWith(t, unsteadyRules, write, text)
}

func failsVaryingWith(t *testing.T, rules, write string, text func(int) error) {
	t.Helper()
	log := &strings.Builder{}
	w, u := unsteadyWorld(t, rules, slog.NewTextHandler(log, nil))
	u.text = text
	u.fails = write
	written, told := len(w.Writes()), len(w.Cluster().Events())
	foos := w.Cluster().Client("someone").Resource(fooResource).Namespace("default")
	if _, err := foos.Patch(t.Context(), "example-foo", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	began := w.Now()
	for range 60 {
		if err := w.Advance(t.Context(), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	minutes := w.Now().Sub(began).Minutes()
	statuses := 0
	for _, write := range w.Writes()[written:] {
		if write.Subresource == "status" && write.Changed {
			statuses++
		}
	}
	events := 0
	for _, e := range w.Cluster().Events()[told:] {
		if e.Reason == "Retrying" || e.Reason == "Rejected" {
			events++
		}
	}
	lines := strings.Count(log.String(), "reconcile failed") + strings.Count(log.String(), "resource retrying") + strings.Count(log.String(), "resource stalled")
	// 12 attempts in the first minute, and then one in 24 seconds. A rejected status is followed by one without the fields of the
	// rules.
	most := 12 + int(2.5*minutes) + 2
	if write == "patch foos status" {
		most *= 2
	}
	if n := len(u.attempts); n < 5 || n > most {
		t.Fatalf("%d attempts in %.0f minutes", n, minutes)
	}
	if statuses > 4 || events > 4 || lines > 8 {
		t.Errorf("%d writes of the status, %d Events and %d log lines in %.0f minutes:\n%s", statuses, events, lines, minutes, log)
	}
	if write != "patch foos status" {
		live := w.Cluster().Find(fooKind, "default", "example-foo")
		got := message(live.Object, "Ready")
		if !slices.ContainsFunc(u.texts[:4], func(text string) bool { return strings.Contains(got, text) }) {
			t.Errorf("Ready says %q, want one of %q", got, u.texts[:4])
		}
	}
	u.fails = ""
	if err := w.Advance(t.Context(), 3*time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := condition(w.Cluster().Find(fooKind, "default", "example-foo"), "Ready"); got != "True Reconciled" {
		t.Errorf("afterwards, Ready is %q", got)
	}
}

// TestEventsDoNotShortenTheBackoff has another writer change the labels of a Foo every few seconds while the write of its child
// fails. Only a change of the Foo's spec, or of the child, makes another attempt at once.
func TestEventsDoNotShortenTheBackoff(t *testing.T) {
	for write, object := range map[string]schema.GroupVersionResource{
		"patch configmaps": {Version: "v1", Resource: "configmaps"}, "delete serviceaccounts": {Version: "v1", Resource: "serviceaccounts"},
	} {
		t.Run(write, func(t *testing.T) {
			w, u := unsteadyWorld(t, unsteadyRules, slog.DiscardHandler)
			u.fails, u.text = write, varying["port"]
			others := w.Cluster().Client("someone")
			change := func(resource schema.GroupVersionResource, name, body string) {
				t.Helper()
				if _, err := others.Resource(resource).Namespace("default").Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			change(fooResource, "example-foo", `{"spec":{"replicas":2}}`)
			for i := range 200 {
				if err := w.Advance(t.Context(), time.Second); err != nil {
					t.Fatal(err)
				}
				change(fooResource, "example-foo", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i))
			}
			settle(t, w)
			before := len(u.attempts)
			if before < 10 || before > 35 {
				t.Errorf("%d attempts", before)
			}
			for i, act := range []func(){
				func() { change(fooResource, "example-foo", `{"spec":{"replicas":3}}`) },
				func() {
					change(object, map[string]string{"configmaps": "a", "serviceaccounts": "gone"}[object.Resource], `{"metadata":{"annotations":{"touched":"yes"}}}`)
				},
			} {
				act()
				settle(t, w)
				if n := len(u.attempts) - before; n < 1 || n > 7 { // In two seconds.
					t.Errorf("%d attempts after change %d", n, i)
				}
				before = len(u.attempts)
			}
		})
	}
}
