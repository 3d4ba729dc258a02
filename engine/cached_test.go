package engine

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/watch"
)

func decode(tb testing.TB, data []byte) *unstructured.Unstructured {
	tb.Helper()
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &u.Object); err != nil {
		tb.Fatalf("%v in %s", err, data)
	}
	return u
}

func decodeObject(tb testing.TB, data []byte) *watch.Object {
	tb.Helper()
	return watch.NewObject(decode(tb, data), watch.Child)
}

// owning adds a managedFields entry for reconcel that owns these fields of an object, or
// of a primary's status.
func owning(tb testing.TB, u *unstructured.Unstructured, role watch.Role, fieldsV1 string) *unstructured.Unstructured {
	tb.Helper()
	subresource := map[watch.Role]string{watch.Primary: "status"}[role]
	entry := decode(tb, fmt.Appendf(nil, `{"manager":"reconcel","operation":"Apply","subresource":%q,"fieldsV1":%s}`, subresource, fieldsV1))
	if err := unstructured.SetNestedSlice(u.Object, []any{entry.Object}, "metadata", "managedFields"); err != nil {
		tb.Fatal(err)
	}
	return u
}

// show fills the cache of a watch with objects. The last object is the newest.
func show(tb testing.TB, w *watch.Watch, k discover.Kind, objects ...*unstructured.Unstructured) *watch.Feed {
	tb.Helper()
	version := "1"
	if len(objects) > 0 {
		version = objects[len(objects)-1].GetResourceVersion()
	}
	w.Notify(func(*watch.Object) {}, func() {})
	f, err := watch.NewFeed(w, k, discover.Ownership{}, nil, Snapshot{Objects: objects, Version: version}.each)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func observe(tb testing.TB, f *watch.Feed, old, now *unstructured.Unstructured) {
	tb.Helper()
	newest := now
	if now == nil {
		newest = old
	}
	if err := f.Observe(old, now, newest.GetResourceVersion()); err != nil {
		tb.Fatal(err)
	}
}

func cacheOf(tb testing.TB, e *Engine, req ident.Request) *watch.Cache {
	tb.Helper()
	c, err := e.Plan.Load().Primaries[req.Kind].Watch.Cache()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func annotate(tb testing.TB, e *Engine, req ident.Request, annotations map[string]string) {
	tb.Helper()
	c := cacheOf(tb, e, req)
	cached, _ := c.Get(req.Namespace, req.Name)
	self := owning(tb, cached.DeepCopy(), watch.Primary, ownedOfFoo)
	self.SetAnnotations(annotations)
	show(tb, e.Plan.Load().Primaries[req.Kind].Watch, c.Kind(), self)
}
