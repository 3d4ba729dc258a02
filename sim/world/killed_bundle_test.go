package world_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/sim/world"
	"reconcel/test/stories"
)

// TestBundleKilledAtEachWrite changes what a rule for the cluster reads, deletes its ConfigMap,
// renames and removes the rule, with a controller that is killed at each write.
func TestBundleKilledAtEachWrite(t *testing.T) {
	rules := strings.ReplaceAll(stories.BundleRules, "NAMESPACE", "default")
	renamed := strings.Replace(rules, "fan-in-", "renamed-", 1)
	none := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- {name: other, for: {apiVersion: v1, kind: Secret}}\n"
	for round := range 2 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := load(t, rules)
			client := w.Cluster().Client("someone")
			services := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("default")
			expose := func(name string) func() {
				return func() {
					service := &unstructured.Unstructured{Object: map[string]any{
						"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name, "labels": map[string]any{"exposed": "yes"}},
						"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}},
					}}
					if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
			}
			forget := func() {
				maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
				if err := maps.Delete(t.Context(), "reconcel-bundle-fan-in-default", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			reload := func(text string) func() {
				return func() { _ = w.Reload(t.Context(), parsed(t, text)) } // It may be killed.
			}
			var uid types.UID
			kills := 0
			for _, c := range []struct {
				change func()
				want   string
			}{
				{func() {}, "fan-in-default: "},
				{expose("web"), "fan-in-default: web"},
				{forget, "fan-in-default: web"},
				{expose("api"), "fan-in-default: api web"},
				{reload(renamed), "renamed-default: api web"},
				{reload(none), ""},
			} {
				c.change()
				kills += untilCalm(t, w, round)
				routes := w.Cluster().Find(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}.GroupKind(), "default", "routes")
				switch got := routesOf(routes); {
				case got != c.want:
					t.Errorf("there are %q, want %q", got, c.want)
				case routes != nil && uid != "" && routes.GetUID() != uid:
					t.Errorf("%q: the routes were created again", c.want)
				case routes != nil:
					uid = routes.GetUID()
				}
			}
			for _, o := range w.Cluster().All() {
				if strings.HasPrefix(o.GetName(), "reconcel-bundle-") {
					t.Errorf("%s is left", o.GetName())
				}
			}
			if kills < 10 {
				t.Errorf("it was killed %d times only", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

func routesOf(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", "routes")
	return o.GetLabels()["reconcel.dev/rule"] + ": " + text
}

// untilCalm kills the controller at each write until it has nothing left to do. It returns
// how often it was killed.
func untilCalm(t *testing.T, w *world.World, round int) (kills int) {
	t.Helper()
	for lives, calm := 0, 0; calm < 3; lives++ {
		if lives == 200 {
			t.Fatal("it does not come to rest")
		}
		l := &life{committed: (lives+round)%2 == 1}
		w.Wrap(dying(l))
		_ = w.Restart(t.Context()) // It may be killed while it starts.
		_ = w.Advance(t.Context(), 10*time.Second)
		calm++
		if l.over {
			kills, calm = kills+1, 0
		}
	}
	return kills
}
