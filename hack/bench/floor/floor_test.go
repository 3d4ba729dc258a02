package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"reconcel/hack/bench/order"
)

func TestEveryOrderIsExecutedOnce(t *testing.T) {
	var mu sync.Mutex
	var got []string
	var orders strings.Builder
	for i := range 100 {
		fmt.Fprintf(&orders, "{\"name\":\"foo-%02d\",\"replicas\":1}\n", i)
	}
	err := execute(t.Context(), strings.NewReader(orders.String()), func(_ context.Context, o order.Order) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, o.Name)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "standard input has ended") {
		t.Errorf("got %v, want an error about the end of the orders", err)
	}
	slices.Sort(got)
	if len(got) != 100 || len(slices.Compact(got)) != 100 {
		t.Errorf("got %d orders: %v", len(got), got)
	}
}

func TestFailedWriteEndsTheFloor(t *testing.T) {
	reader, writer := io.Pipe()
	defer writer.Close()
	go fmt.Fprintln(writer, `{"name":"web","replicas":1}`) // And then nothing, without an end.
	broken := errors.New("broken")
	err := execute(t.Context(), reader, func(context.Context, order.Order) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the write", err)
	}
}

func TestBrokenOrderIsAnError(t *testing.T) {
	err := execute(t.Context(), strings.NewReader("{"), func(context.Context, order.Order) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "read an order") {
		t.Errorf("got %v", err)
	}
}

// TestBodies checks that the floor sends the objects of the other controllers.
func TestBodies(t *testing.T) {
	type request struct {
		method, path, contentType string
		body                      map[string]any
	}
	var got []request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("%s: %v", r.URL, err)
		}
		got = append(got, request{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body})
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	w, err := newWriter(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	n := int32(3)
	for _, o := range []order.Order{{Name: "web", UID: "1", Replicas: &n}, {Name: "web", Available: &n}} {
		if err := w.write(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.write(t.Context(), order.Order{Name: "web"}); err == nil {
		t.Error("an empty order is no error")
	}
	if len(got) != 2 {
		t.Fatalf("got %d requests: %v", len(got), got)
	}
	apply, status := got[0], got[1]
	if apply.path != "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=floor&fieldValidation=Ignore&force=true" || apply.contentType != "application/apply-patch+yaml" {
		t.Errorf("got %s of %s", apply.contentType, apply.path)
	}
	if spec := apply.body["spec"].(map[string]any); spec["replicas"] != 3.0 {
		t.Errorf("got %v", spec)
	}
	if status.path != "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos/web/status" || status.body["status"].(map[string]any)["availableReplicas"] != 3.0 {
		t.Errorf("got %v", status)
	}
}
