package engine

import (
	"context"
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

// TestConditionsOfBuiltInKindsAreKnownFromTheStart looks at what is known when
// passes begin: nobody would ask for them again later.
func TestConditionsOfBuiltInKindsAreKnownFromTheStart(t *testing.T) {
	k := Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Namespaced: true}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{k.GVR: "ServiceList"},
		&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a", "namespace": "b"}}})
	ws := &watches{client: client, log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	w := &watch{key: watchKey{k.GVK, "", primaryRole}, onEvent: func(*object) {}}
	known := false
	w.onReady = func() {
		known = w.cached.Load().conditions.Load() != nil
		cancel()
	}
	ws.follow(ctx, w, k)
	if !known {
		t.Error("they are not known when the cache is filled")
	}
}
