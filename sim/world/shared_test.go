package world_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/sim/world"
	"reconcel/test/race"
)

// A sharingWorld has Foos that share ConfigMaps, as their deploymentName says.
type sharingWorld struct {
	*testing.T
	*world.World
	foos    map[string]string // name: the ConfigMap that it wants, or ""
	foreign []string          // ConfigMaps of others, which stay
}

func shareIn(t *testing.T) *sharingWorld {
	t.Helper()
	return shareBy(t, sharedRules)
}

func shareBy(t *testing.T, rules string) *sharingWorld {
	t.Helper()
	return &sharingWorld{t, loadWith(t, rules, world.Options{}), map[string]string{}, nil}
}

func (w *sharingWorld) create(name, wants string) {
	w.Helper()
	foo := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{"deploymentName": wants, "replicas": int64(1)},
	}}
	if _, err := w.Cluster().Put(foo); err != nil {
		w.Fatal(err)
	}
	w.foos[name] = wants
}

func (w *sharingWorld) patch(name, text, wants string) {
	w.Helper()
	foos := w.Cluster().Client("someone").Resource(fooResource).Namespace("default")
	if _, err := foos.Patch(w.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
	w.foos[name] = wants
}

func (w *sharingWorld) remove(name string) {
	w.Helper()
	if err := w.Cluster().Client("someone").Resource(fooResource).Namespace("default").Delete(w.Context(), name, deleteOptions); err != nil {
		w.Fatal(err)
	}
	delete(w.foos, name)
}

// shared returns the ConfigMaps with their owners.
func (w *sharingWorld) shared() string {
	var all []string
	for _, o := range w.Objects() {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		var owners []string
		for _, s := range rules.SharesOf(o.Object) {
			owners = append(owners, s.Owner.Name)
		}
		slices.Sort(owners)
		all = append(all, o.GetName()+": "+strings.Join(owners, " "))
	}
	return strings.Join(all, "\n")
}

// wanted returns the same as the Foos want it.
func (w *sharingWorld) wanted() string {
	owners := map[string][]string{}
	for _, name := range w.foreign {
		owners[name] = nil
	}
	for foo, name := range w.foos {
		if name != "" {
			owners[name] = append(owners[name], foo)
		}
	}
	var all []string
	for name, foos := range owners {
		slices.Sort(foos)
		all = append(all, name+": "+strings.Join(foos, " "))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// act does something at random.
func (w *sharingWorld) act(random *rand.Rand) (what, foo string) {
	w.Helper()
	foo, object := fmt.Sprintf("foo-%d", random.IntN(20)), []string{"one", "two"}[random.IntN(2)]
	if _, exists := w.foos[foo]; !exists {
		if w.Cluster().Find(fooKind, "default", foo) == nil {
			w.create(foo, object)
		}
		return "create", foo
	}
	switch what = []string{"delete", "stop", "want", "deselect", "strip"}[random.IntN(5)]; what {
	case "delete":
		w.remove(foo)
	case "stop":
		w.patch(foo, `{"spec":{"replicas":9}}`, "")
	case "want":
		w.patch(foo, fmt.Sprintf(`{"metadata":{"labels":null},"spec":{"replicas":1,"deploymentName":%q}}`, object), object)
	case "deselect":
		w.patch(foo, `{"metadata":{"labels":{"off":"yes"}}}`, "")
	case "strip": // A user removes the finalizers of a Foo that is being deleted.
		w.remove(foo)
		if w.Cluster().Find(fooKind, "default", foo) != nil {
			w.patch(foo, `{"metadata":{"finalizers":null}}`, "")
			delete(w.foos, foo)
		}
	}
	return what, foo
}

// TestSharedByManyThatComeAndGo has 20 Foos come and go at random, with a controller that is
// killed at each write in most of the rounds. A ConfigMap exists exactly while one of them wants it, and is
// never created again while another one does. One of others stays, and has the fields of the rule exactly while a
// Foo wants it.
func TestSharedByManyThatComeAndGo(t *testing.T) {
	race.Skip(t)
	steps := 120
	if testing.Short() {
		steps = 40
	}
	for _, mode := range []string{"share", "extend", "extend one of others"} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(mode, " ", seed), func(t *testing.T) {
				w := shareIn(t)
				if mode != "share" {
					w = shareBy(t, extendingRules)
				}
				if mode == "extend one of others" {
					w.put("one")
				}
				w.comeAndGo(rand.New(rand.NewPCG(seed, 1)), steps)
			})
		}
	}
}

func (w *sharingWorld) comeAndGo(random *rand.Rand, steps int) {
	w.Helper()
	kills := 0
	for range steps {
		var acts []string
		before := w.Cluster().ChangeCount()
		stay := w.stay()
		for range 1 + random.IntN(3) {
			what, foo := w.act(random)
			acts = append(acts, what+" "+foo)
			for name := range stay {
				stay[name] = slices.DeleteFunc(stay[name], func(other string) bool { return other == foo })
			}
		}
		kills += w.live(random)
		if got, want := w.shared(), w.wanted(); got != want {
			w.Fatalf("after %v there are\n%s\nwant\n%s", acts, got, want)
		}
		w.foreignAsWanted()
		for _, c := range w.Cluster().Changes(before) {
			if c.New == nil && c.Old.GetKind() == "ConfigMap" && len(stay[c.Old.GetName()]) > 0 {
				w.Fatalf("after %v %s was deleted, which %v wanted all the time", acts, c.Old.GetName(), stay[c.Old.GetName()])
			}
		}
	}
	for name := range w.foos {
		w.remove(name)
	}
	kills += w.live(random)
	w.foreignAsWanted()
	for _, o := range w.Objects() {
		if !slices.Contains(w.foreign, o.GetName()) {
			w.Errorf("%s %s is left: %v", o.GetKind(), o.GetName(), o.Object["metadata"])
		}
	}
	if kills < steps {
		w.Errorf("it was killed %d times only", kills)
	}
	w.Logf("killed %d times", kills)
}

// stay returns the owners of each ConfigMap.
func (w *sharingWorld) stay() map[string][]string {
	all := map[string][]string{}
	for _, o := range w.Objects() {
		for _, s := range rules.SharesOf(o.Object) {
			all[o.GetName()] = append(all[o.GetName()], s.Owner.Name)
		}
	}
	return all
}

// live runs controllers, most of which are killed at their first write, until there is
// nothing left to do.
func (w *sharingWorld) live(random *rand.Rand) (kills int) {
	w.Helper()
	for lives := 0; ; lives++ {
		if lives == 200 {
			w.Fatal("it does not come to rest")
		}
		l := &life{committed: random.IntN(2) == 0}
		w.Wrap(dying(l))
		if random.IntN(4) == 0 {
			w.Wrap(immortal)
		}
		if err := w.Restart(w.Context()); err != nil {
			w.Fatal(err)
		}
		if err := w.Advance(w.Context(), 6*time.Second); err != nil {
			w.Fatal(err)
		}
		if !l.over {
			return kills
		}
		kills++
	}
}

// TestSharedObjectIsWrittenOnce has the owners of a ConfigMap repair it, agree on a change
// and rest: each time with one write of its content.
func TestSharedObjectIsWrittenOnce(t *testing.T) {
	w := shareIn(t)
	for i := range 20 {
		w.create(fmt.Sprintf("foo-%02d", i), "one")
	}
	settle(t, w.World)
	if got, want := w.shared(), w.wanted(); got != want {
		t.Fatalf("there are\n%s\nwant\n%s", got, want)
	}
	contentWrites := func(from int) (n int) {
		for _, write := range w.Writes()[from:] {
			if write.Kind.Kind == "ConfigMap" && write.Verb == "apply" {
				n++
			}
		}
		return n
	}
	if n := contentWrites(0); n != 1 {
		t.Errorf("it was created by %d applies", n)
	}
	from := len(w.Writes())
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(w.Writes()) - from; n > 0 {
		t.Errorf("%d writes after a restart", n)
	}
	someone := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	if _, err := someone.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"data":{"replicas":"5"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	from = len(w.Writes())
	settle(t, w.World)
	if n := contentWrites(from); n != 1 || w.replicas() != "1" {
		t.Errorf("%d applies restore %s", n, w.replicas())
	}
	from = len(w.Writes())
	for name := range w.foos {
		w.patch(name, `{"spec":{"replicas":3}}`, "one")
	}
	settle(t, w.World)
	if n := contentWrites(from); n != 1 || w.replicas() != "3" {
		t.Errorf("%d applies of the change: %s", n, w.replicas())
	}
}

func (w *sharingWorld) replicas() string {
	for _, o := range w.Objects() {
		if o.GetKind() == "ConfigMap" && o.GetName() == "one" {
			replicas, _, _ := unstructured.NestedString(o.Object, "data", "replicas")
			return replicas
		}
	}
	return ""
}
