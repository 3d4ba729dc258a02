package oracle_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"reconcel/test/oracle"
)

// owned returns a version of an object of a primary.
func owned(name, uid, owner, revision string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": name, "namespace": "a", "uid": uid, "resourceVersion": revision, "annotations": map[string]any{"reconcel.dev/owner": owner + "/Box/a/b"},
		},
	}}
}

func TestObjectsOfEndedPrimaries(t *testing.T) {
	h := oracle.NewHistory()
	h.Record(watch.Added, owned("primary", "p", "", "1"))
	h.Record(watch.Added, owned("early", "c", "p", "2"))
	h.Record(watch.Deleted, owned("primary", "p", "", "5"))
	h.Record(watch.Added, owned("seen-late", "d", "p", "4"))
	h.Record(watch.Added, owned("of-others", "e", "q", "6"))
	s := h.Select(oracle.NewNames(nil), func(oracle.Key) bool { return true })
	if found := s.LateBirths(-1); len(found) > 0 {
		t.Errorf("got %q, want none", found)
	}
	h.Record(watch.Added, owned("late", "f", "p", "7"))
	if found := s.LateBirths(-1); len(found) != 1 {
		t.Errorf("got %q, want one", found)
	}
	if found := s.Lost("p"); len(found) > 0 {
		t.Errorf("got %q, want none", found)
	}
	h.Record(watch.Deleted, owned("early", "c", "p", "8"))
	if found := s.Lost("p"); len(found) != 1 {
		t.Errorf("got %q, want one", found)
	}
}
