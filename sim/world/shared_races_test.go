package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/rules"
)

// An opponent does something right before the controller writes a ConfigMap with a verb: delete, or a
// type of patch. It happens once.
type opponent struct {
	verb string
	act  func()
}

func (r *opponent) start(verb string) {
	if act := r.act; act != nil && verb == r.verb {
		r.act = nil
		act()
	}
}

type racing struct {
	dynamic.Interface
	race *opponent
}

func (r racing) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	inner := r.Interface.Resource(gvr)
	if gvr.Resource != "configmaps" {
		return inner
	}
	return racingKind{inner, r.race}
}

type racingKind struct {
	dynamic.NamespaceableResourceInterface
	race *opponent
}

func (r racingKind) Namespace(ns string) dynamic.ResourceInterface {
	return racingObjects{r.NamespaceableResourceInterface.Namespace(ns), r.race}
}

type racingObjects struct {
	dynamic.ResourceInterface
	race *opponent
}

func (r racingObjects) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	r.race.start(string(pt))
	return r.ResourceInterface.Patch(ctx, name, pt, data, o, sub...)
}

func (r racingObjects) Delete(ctx context.Context, name string, o metav1.DeleteOptions, sub ...string) error {
	r.race.start("delete")
	return r.ResourceInterface.Delete(ctx, name, o, sub...)
}

// TestRacesForASharedObject has another process of reconcel write a shared ConfigMap between
// the read and the write of the controller.
func TestRacesForASharedObject(t *testing.T) {
	for name, c := range map[string]struct {
		verb string // before which something happens
		owns string // who shares the ConfigMap first
		act  func(w *sharingWorld)
		race func(w *sharingWorld)
		want string
		same bool // the ConfigMap is never created again
	}{
		"one joins while the last one leaves": {
			verb: "delete", owns: "a",
			act:  func(w *sharingWorld) { w.create("b", "two"); settle(w.T, w.World); w.remove("a") },
			race: func(w *sharingWorld) { w.patch("b", `{"spec":{"deploymentName":"one"}}`, "one"); w.part("b", "b") },
			want: "one: b", same: true,
		},
		"two leave at once": {
			verb: "application/merge-patch+json", owns: "ab",
			act: func(w *sharingWorld) { w.patch("a", `{"spec":{"replicas":9}}`, "") },
			race: func(w *sharingWorld) {
				w.patch("b", `{"spec":{"replicas":9}}`, "")
				w.part("b", "")
			},
			want: "",
		},
		"one joins while the only one changes the content": {
			verb: "application/apply-patch+yaml", owns: "a",
			act: func(w *sharingWorld) {
				w.create("b", "two")
				settle(w.T, w.World)
				w.patch("a", `{"spec":{"replicas":4}}`, "one")
			},
			race: func(w *sharingWorld) { w.patch("b", `{"spec":{"deploymentName":"one"}}`, "one"); w.part("b", "b") },
			want: "one: a b", same: true,
		},
		"another one creates it first": {
			verb: "application/apply-patch+yaml",
			act:  func(w *sharingWorld) { w.create("a", "one") },
			race: func(w *sharingWorld) { w.create("b", "one"); w.byAnother("b") },
			want: "one: a b", same: true,
		},
		"it goes while another one joins": {
			verb: "application/merge-patch+json", owns: "a",
			act:  func(w *sharingWorld) { w.create("b", "one") },
			race: func(w *sharingWorld) { w.delete("one") },
			want: "one: a b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := shareIn(t)
			for _, foo := range c.owns {
				w.create(string(foo), "one")
			}
			settle(t, w.World)
			r := &opponent{verb: c.verb, act: func() { c.race(w) }}
			from := w.Cluster().ChangeCount()
			w.Wrap(func(inner dynamic.Interface) dynamic.Interface { return racing{inner, r} })
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.act(w)
			if err := w.Advance(t.Context(), 10*time.Second); err != nil {
				t.Fatal(err)
			}
			if r.act != nil {
				t.Error("the race did not take place")
			}
			if got := strings.Join(linesOf(w.shared(), "one"), ""); got != c.want {
				t.Errorf("there are %q, want %q", got, c.want)
			}
			for _, change := range w.Cluster().Changes(from) {
				if c.same && change.New == nil && change.Old.GetKind() == "ConfigMap" && change.Old.GetName() == "one" {
					t.Error("the ConfigMap was deleted")
				}
			}
		})
	}
}

func linesOf(text, prefix string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, line)
		}
	}
	return lines
}

// part has another process set the part of a Foo in the ConfigMap, or remove it.
func (w *sharingWorld) part(foo, as string) {
	w.Helper()
	uid := w.Cluster().Find(fooKind, "default", foo).GetUID()
	client := w.Cluster().Client("another").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	value := "null"
	if as != "" {
		u, err := client.Get(w.Context(), "one", metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		hash := u.GetAnnotations()[rules.AnnotationApplied]
		value = fmt.Sprintf("%q", rules.Share{Owner: rules.Owner{Kind: fooKind, Namespace: "default", Name: foo, UID: uid}, Hash: hash}.Value())
	}
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, rules.ShareKey(uid), value)
	if _, err := client.Patch(w.Context(), "one", types.MergePatchType, body, metav1.PatchOptions{FieldManager: "reconcel"}); err != nil {
		w.Fatal(err)
	}
}

// byAnother has another process create the ConfigMap for a Foo.
func (w *sharingWorld) byAnother(foo string) {
	w.Helper()
	other := shareIn(w.T)
	other.create(foo, "one")
	settle(w.T, other.World)
	u := w.Cluster().Find(fooKind, "default", foo)
	uid := other.Cluster().Find(fooKind, "default", foo).GetUID()
	for _, o := range other.Objects() {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		body, err := applied(o, strings.NewReplacer(string(uid), string(u.GetUID())))
		if err != nil {
			w.Fatal(err)
		}
		client := w.Cluster().Client("another").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
		if _, err := client.Patch(w.Context(), o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "reconcel"}); err != nil {
			w.Fatal(err)
		}
	}
}

// applied returns the apply that made an object.
func applied(o *unstructured.Unstructured, replace *strings.Replacer) ([]byte, error) {
	u := o.DeepCopy()
	u.SetManagedFields(nil)
	u.SetUID("")
	u.SetResourceVersion("")
	u.SetCreationTimestamp(metav1.Time{})
	text, err := u.MarshalJSON()
	return []byte(replace.Replace(string(text))), err
}

// delete has a user delete a ConfigMap.
func (w *sharingWorld) delete(name string) {
	w.Helper()
	client := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	if err := client.Delete(w.Context(), name, deleteOptions); err != nil {
		w.Fatal(err)
	}
}
