//go:build integration

package examples

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestExamplesInSomeNamespaces runs examples with Roles alone, in one of two watched
// namespaces. The other one has one resource of each example.
func TestExamplesInSomeNamespaces(t *testing.T) {
	t.Parallel()
	binary := e2e.Build(t)
	for _, e := range table {
		if !slices.Contains([]string{"foo", "podset", "backup-on-delete"}, e.name) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, e, binary, reserveCluster(t))
			w.namespaced = true
			w.story = func(w *world) {
				e.story(w)
				w.livesBeside()
				w.asksNothingOfTheCluster()
			}
			w.lifetime(laps(t))
		})
	}
}

// makeNeighbour creates the other watched namespace.
func (w *world) makeNeighbour() {
	w.Helper()
	w.beside = w.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": namespacePrefix + "-"},
	}}).GetName()
}

// followed returns the flag for the watched namespaces, if the process does not watch
// all.
func (w *world) followed() []string {
	if !w.namespaced {
		return nil
	}
	return []string{"--namespaced", w.Namespace + "," + w.beside}
}

// livesBeside creates and deletes a resource in the other namespace.
func (w *world) livesBeside() {
	w.Helper()
	u := w.primaries[0].DeepCopy()
	u.Object["metadata"] = map[string]any{"name": u.GetName(), "namespace": w.beside}
	created := w.create(u)
	w.eventually("the resource in the other namespace to be ready", func() error {
		live, err := w.live(created)
		if err != nil {
			return err
		}
		return condition(live, "Ready")
	})
	w.delete(created)
	w.gone(u.GetAPIVersion(), u.GetKind(), w.beside+"/"+u.GetName())
}

// asksNothingOfTheCluster checks that the account made no cluster-wide request, and no
// request in an unwatched namespace.
func (w *world) asksNothingOfTheCluster() {
	w.Helper()
	if w.Cluster.Borrowed() {
		return
	}
	w.FlushAudit()
	inside := func(r devcluster.Request) bool {
		// Every user may send access reviews for itself. The namespace is in the body.
		return r.Namespace == w.Namespace || r.Namespace == w.beside || r.Resource == "selfsubjectaccessreviews"
	}
	all := w.asked(func(r devcluster.Request) bool { return r.Resource != "" })
	if !slices.ContainsFunc(all, func(r devcluster.Request) bool { return r.Namespace == w.beside && r.Verb == "watch" }) {
		w.Error("the other namespace is not watched")
	}
	if outside := slices.DeleteFunc(all, inside); len(outside) > 0 {
		w.Errorf("requests for the whole cluster: %v", devcluster.Tally(outside))
	}
	for _, u := range w.roles() {
		if strings.HasPrefix(u.GetKind(), "Cluster") {
			w.Errorf("there is a %s", u.GetKind())
		}
	}
}
