//go:build integration

package campaign

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// world has the primaries of a campaign of reloads, and their children.
type world struct {
	*testing.T
	cluster *devcluster.Cluster
	client  dynamic.Interface
	values  map[string]int // of the primaries, by name
	items   int            // number of Items
	changes int
	probes  int
	rest    func() // stops the changes

	mu       sync.Mutex
	versions map[types.UID]int // the last version of each child
	wrong    []string
}

// probed is the Item that only probe changes.
const probed = "item-probe"

func newWorld(t *testing.T, cluster *devcluster.Cluster, size int) *world {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, cluster: cluster, client: client, items: size, values: map[string]int{probed: 0}, versions: map[types.UID]int{}}
	for i := range size {
		w.values[fmt.Sprintf("item-%d", i)] = 0
		if i%10 == 0 {
			w.values[fmt.Sprintf("other-%d", i/10)] = 0
		}
	}
	for _, resource := range []string{"configmaps", "serviceaccounts", "secrets"} {
		watchAll(t, w.resource(resource), "", w.saw)
	}
	w.create()
	return w
}

// resource returns the client for a resource by its name.
func (w *world) resource(name string) dynamic.ResourceInterface {
	r := schema.GroupVersionResource{Version: "v1", Resource: name}
	if name == "items" || name == "others" {
		r.Group = "campaign.reconcel.dev"
	}
	return w.client.Resource(r).Namespace("default")
}

func kindOf(primary string) (kind, resource string) {
	if strings.HasPrefix(primary, "other") {
		return "Other", "others"
	}
	return "Item", "items"
}

// suffix returns the part of a child's name that identifies the child of the rule.
func suffix(child string) string { return child[strings.LastIndex(child, "-")+1:] }

// create creates the primaries with their values.
func (w *world) create() {
	w.Helper()
	for name, value := range w.values {
		kind, resource := kindOf(name)
		_, err := w.resource(resource).Create(w.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "campaign.reconcel.dev/v1", "kind": kind, "metadata": map[string]any{"name": name},
			"spec": map[string]any{"value": int64(value)},
		}}, metav1.CreateOptions{FieldManager: "driver"})
		if err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) set(ctx context.Context, primary string, value int) error {
	_, resource := kindOf(primary)
	body := fmt.Appendf(nil, `{"spec":{"value":%d}}`, value)
	_, err := w.resource(resource).Patch(ctx, primary, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "driver"})
	return err
}

func (w *world) change() {
	ctx, cancel := context.WithCancel(w.Context())
	var changing sync.WaitGroup
	changing.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			name := fmt.Sprintf("item-%d", w.changes%w.items)
			if w.changes%7 == 0 {
				name = fmt.Sprintf("other-%d", w.changes%w.items/10)
			}
			w.changes++
			w.values[name] = w.changes
			if err := w.set(context.WithoutCancel(ctx), name, w.changes); err != nil {
				w.Errorf("change %s: %v", name, err)
			}
		}
	})
	w.rest = func() { cancel(); changing.Wait() }
	w.Cleanup(w.rest)
}

// probe changes an Item, and waits until its child matches an edition.
func (w *world) probe(t *testing.T, when string, by edition) {
	t.Helper()
	w.probes++
	if err := w.set(t.Context(), probed, w.probes); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, when+": the last good rules to be followed on", 10*time.Second, func() error {
		o, err := w.resource("configmaps").Get(t.Context(), probed+"-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return asWanted(o, by, w.probes)
	})
}

// asWanted returns the difference between a child and its wanted state.
func asWanted(o *unstructured.Unstructured, by edition, value int) error {
	if got := o.GetAnnotations()["a"]; got != strconv.Itoa(by.version) {
		return fmt.Errorf("%s is of version %s, want %d", o.GetName(), got, by.version)
	}
	if got, _, _ := unstructured.NestedString(o.Object, "data", "value"); o.GetKind() == "ConfigMap" && got != strconv.Itoa(value) {
		return fmt.Errorf("%s has the value %s, want %d", o.GetName(), got, value)
	}
	return nil
}

// converges waits until every primary has the children of an edition. Children that an
// existing rule no longer renders must be gone. Those of removed rules may still exist.
func (w *world) converges(by edition) {
	w.Helper()
	w.values[probed] = w.probes
	e2e.Eventually(w.T, fmt.Sprintf("all to be as edition %d says", by.version), time.Minute, func() error {
		present := map[string]*unstructured.Unstructured{}
		for _, resource := range []string{"configmaps", "serviceaccounts", "secrets"} {
			list, err := w.resource(resource).List(w.Context(), metav1.ListOptions{})
			if err != nil {
				return err
			}
			for i := range list.Items {
				o := &list.Items[i]
				if which := suffix(o.GetName()); which == "account" && !by.has(account) || which == "extra" && !by.has(extra) {
					return fmt.Errorf("%s is still there", o.GetName())
				}
				present[resource+"/"+o.GetName()] = o
			}
		}
		for name, value := range w.values {
			kind, _ := kindOf(name)
			for which, resource := range by.children(kind) {
				o := present[resource+"/"+name+"-"+which]
				if o == nil {
					return fmt.Errorf("%s-%s is missing", name, which)
				}
				if err := asWanted(o, by, value); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Names that reconcel uses for itself.
const (
	inventory = "reconcel-inventory"
	ruleLabel = "reconcel.dev/rule"
)

// remembers returns an error while the inventory names a kind.
func (w *world) remembers(kind string) error {
	o, err := w.resource("configmaps").Get(w.Context(), inventory, metav1.GetOptions{})
	if err != nil {
		return err
	}
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for rule, entry := range data {
		if strings.Contains(entry, kind) {
			return fmt.Errorf("of rule %s it is known that %s", rule, entry)
		}
	}
	return nil
}

// clear deletes all objects of primaries and rules. It does not wait for the garbage
// collector, which discovers new kinds only after a while.
func (w *world) clear() {
	w.Helper()
	if err := w.resource("configmaps").Delete(w.Context(), inventory, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	for resource, selector := range map[string]string{
		"items": "", "others": "", "configmaps": ruleLabel, "serviceaccounts": ruleLabel, "secrets": ruleLabel,
	} {
		if err := w.resource(resource).DeleteCollection(w.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: selector}); err != nil {
			w.Fatal(err)
		}
	}
	e2e.Eventually(w.T, "everything to be gone", 2*time.Minute, func() error {
		if left := w.state(); len(left) > 0 {
			return fmt.Errorf("%d objects are left", len(left))
		}
		return nil
	})
}

// requests returns the matching requests, including all that were answered before this
// call.
func (w *world) requests(match func(devcluster.Request) bool) []devcluster.Request {
	w.Helper()
	return e2e.In(w.T, w.cluster, "default").Requests(match)
}
