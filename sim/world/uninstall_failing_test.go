package world_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine"
	"reconcel/sim/world"
)

// failing is a cluster that fails requests, such as "patch secrets/one".
type failing struct {
	dynamic.Interface
	fails func(request string) error
}

func (f failing) Resource(gvr runtimeschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return failingKind{f.Interface.Resource(gvr), gvr.Resource, f}
}

type failingKind struct {
	dynamic.NamespaceableResourceInterface
	resource string
	failing  failing
}

func (k failingKind) Namespace(name string) dynamic.ResourceInterface {
	return failingObjects{k.NamespaceableResourceInterface.Namespace(name), k.resource, k.failing}
}

type failingObjects struct {
	dynamic.ResourceInterface
	resource string
	failing  failing
}

func (o failingObjects) Patch(ctx context.Context, name string, t types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := o.failing.fails("patch " + o.resource + "/" + name); err != nil {
		return nil, err
	}
	return o.ResourceInterface.Patch(ctx, name, t, body, options, subresources...)
}

func (o failingObjects) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := o.failing.fails("get " + o.resource + "/" + name); err != nil {
		return nil, err
	}
	return o.ResourceInterface.Get(ctx, name, options, subresources...)
}

// secretsWorld has the Secrets one, paused and two, each with a finalizer, a patch and a child. Later requests fail as fails
// says.
func secretsWorld(t *testing.T, fails func(request string) error) *world.World {
	t.Helper()
	text := `- name: a
  for: {apiVersion: v1, kind: Secret}
  teardown: ordered
  patch: {metadata: {labels: {a: x}}}
  children: [{id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "of-${self.metadata.name}"}}}]
`
	w, err := world.New(world.Options{Program: briefRules(t, text), Kinds: kindsOf(t, briefs)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "paused", "two"} {
		add(t, w, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"`+name+`","namespace":"default"}}`)
	}
	settle(t, w)
	secrets := w.Cluster().Client("someone").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("default")
	pause := []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`)
	if _, err := secrets.Patch(t.Context(), "paused", types.MergePatchType, pause, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	settle(t, w)
	if left := leftOf(w); left != "of-one, of-paused, of-two, one finalizer label, paused finalizer label, two finalizer label" {
		t.Fatalf("at first: %s", left)
	}
	w.Wrap(func(c dynamic.Interface) dynamic.Interface { return failing{c, fails} })
	return w
}

// leftOf says which Secrets have a finalizer and a label, and which children there are.
func leftOf(w *world.World) string {
	var all []string
	for _, u := range w.Objects() {
		switch {
		case u.GetNamespace() != "default":
		case u.GetKind() == "ConfigMap":
			all = append(all, u.GetName())
		case u.GetKind() == "Secret":
			left := u.GetName()
			if len(u.GetFinalizers()) > 0 {
				left += " finalizer"
			}
			if len(u.GetLabels()) > 0 {
				left += " label"
			}
			if left != u.GetName() {
				all = append(all, left)
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

var errRefused = errors.New("no such luck")

func refuseOne(request string) error {
	if request == "patch secrets/one" {
		return errRefused
	}
	return nil
}

// TestUninstallKeepsChildrenOfPausedSecrets fails to revert the patch of a Secret that is listed before the paused one.
func TestUninstallKeepsChildrenOfPausedSecrets(t *testing.T) {
	w := secretsWorld(t, refuseOne)
	said, err := uninstallIn(t, w, "reconcel", func(string) {})
	if want := "of-paused, one finalizer label, paused finalizer label, two finalizer"; leftOf(w) != want {
		t.Errorf("left is %s, want %s; said was\n%s", leftOf(w), want, said)
	}
	if !errors.Is(err, errRefused) {
		t.Errorf("error %v", err)
	}
}

// TestUninstallContinuesAfterAFinalizer fails to remove the finalizer of the first Secret.
func TestUninstallContinuesAfterAFinalizer(t *testing.T) {
	w := secretsWorld(t, refuseOne)
	err := w.Uninstall(t.Context(), "reconcel", engine.Uninstallation{Tell: func(string, string) {}})
	if want := "of-one, of-paused, of-two, one finalizer label, paused label, two label"; leftOf(w) != want {
		t.Errorf("left is %s, want %s", leftOf(w), want)
	}
	if !errors.Is(err, errRefused) {
		t.Errorf("error %v", err)
	}
}

// TestUninstallReadsTheLeaseAgain answers the first reads of the Lease with a 429, and then no read of it.
func TestUninstallReadsTheLeaseAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fails func(read int) bool
		left  string
		want  string // in the error
	}{
		"some": {func(read int) bool { return read < 2 || read == 3 }, "of-paused, paused label", ""},
		"most": {func(read int) bool { return read > 0 }, "of-one, of-paused, of-two, one finalizer label, paused finalizer label, two finalizer label", "cannot tell whether"},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			w := secretsWorld(t, func(request string) error {
				if request != "get leases/reconcel" {
					return nil
				}
				defer func() { reads++ }()
				if c.fails(reads) {
					return apierrors.NewTooManyRequests("later", 1)
				}
				return nil
			})
			said, err := uninstallIn(t, w, "reconcel", func(string) {})
			if leftOf(w) != c.left {
				t.Errorf("left is %s, want %s; said was\n%s", leftOf(w), c.left, said)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestUninstallNamesWhatFailedBeforeItStopped fails to revert the patch of the first rule. Then a process of the installation
// starts.
func TestUninstallNamesWhatFailedBeforeItStopped(t *testing.T) {
	w := removableWorld(t)
	w.Wrap(func(c dynamic.Interface) dynamic.Interface { return failing{c, refuseOne} })
	said, err := uninstallIn(t, w, "reconcel", func(object string) {
		if object == "ConfigMap/default/of-a" {
			startProcess(t, w)
		}
	})
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "held by new") || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("error %v; said was\n%s", err, said)
	}
}

// TestFinalizersOfARemovedRule removes the rule, and fails to remove the finalizer of the first Secret.
func TestFinalizersOfARemovedRule(t *testing.T) {
	w := secretsWorld(t, refuseOne)
	other := "- name: other\n  for: {apiVersion: v1, kind: Pod}\n  patch: {metadata: {labels: {a: b}}}\n"
	if err := w.RestartWith(t.Context(), briefRules(t, other)); !errors.Is(err, errRefused) {
		t.Errorf("error %v", err)
	}
	if want := "of-one, of-paused, of-two, one finalizer label, paused finalizer label, two label"; leftOf(w) != want {
		t.Errorf("left is %s, want %s", leftOf(w), want)
	}
}
