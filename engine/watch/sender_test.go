package watch

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/discover"
)

// A patched server answers every patch with the same text, and keeps the last request.
type patched struct {
	answer []byte
	status int
	header http.Header
	busy   int // the number of requests that the server asks to repeat

	last     string // method, path, query and content type
	body     string
	requests int
	warnings []string
}

// ServeHTTP implements http.Handler.
func (p *patched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.last = strings.Join([]string{r.Method, r.URL.Path, r.URL.Query().Encode(), r.Header.Get("Content-Type")}, " ")
	p.body = string(body)
	p.requests++
	if p.busy > 0 {
		p.busy--
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_, _ = w.Write(p.answer)
}

// HandleWarningHeader implements rest.WarningHandler.
func (p *patched) HandleWarningHeader(_ int, _, text string) { p.warnings = append(p.warnings, text) }

func (p *patched) sender(tb testing.TB) Sender {
	tb.Helper()
	server := httptest.NewServer(p)
	tb.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL + "/prefix", WarningHandler: p, QPS: -1})
	if err != nil {
		tb.Fatal(err)
	}
	return Sender{client}
}

var (
	deploymentKind = discover.Kind{GVK: deployments, GVR: deployments.GroupVersion().WithResource("deployments"), Namespaced: true}
	nodeKind       = discover.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}}
)

func TestPatchesAreSentAsTheySay(t *testing.T) {
	p := &patched{answer: readTestdata(t, "deployment.json"), status: http.StatusOK}
	s := p.sender(t)
	w := New(Key{GVK: deployments, Role: Child}, fooRules(t).Reads().Child(deployments))
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(p.answer); err != nil {
		t.Fatal(err)
	}
	kept := w.objectOf(u)
	for want, patch := range map[string]Patch{
		"PATCH /prefix/apis/apps/v1/namespaces/default/deployments/a fieldManager=reconcel&fieldValidation=Ignore&force=true application/apply-patch+yaml": {
			Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: []byte(`{"a":1}`), Manager: "reconcel", Force: true,
		},
		"PATCH /prefix/apis/apps/v1/namespaces/default/deployments/a/status fieldManager=reconcel%2Fx%26y&fieldValidation=Ignore&force=true application/apply-patch+yaml": {
			Kind: deploymentKind, Namespace: "default", Name: "a", Subresource: "status", Type: types.ApplyPatchType, Body: []byte(`{}`),
			Manager: "reconcel/x&y", Force: true,
		},
		"PATCH /prefix/api/v1/nodes/a.b fieldManager=reconcel application/merge-patch+json": {
			Kind: nodeKind, Name: "a.b", Type: types.MergePatchType, Body: []byte(`{"b":2}`), Manager: "reconcel",
		},
		"PATCH /prefix/api/v1/nodes/a  application/json-patch+json": {Kind: nodeKind, Name: "a", Type: types.JSONPatchType, Body: []byte(`[]`)},
	} {
		got, err := s.Send(t.Context(), w, patch)
		if err != nil {
			t.Fatal(err)
		}
		if p.last != want || p.body != string(patch.Body) {
			t.Errorf("the request is %s %s, want %s %s", p.last, p.body, want, patch.Body)
		}
		if !reflect.DeepEqual(got.Content(), kept.Content()) || got.Fields() != kept.Fields() || got.GetName() != kept.GetName() {
			t.Errorf("the answer is %v, want %v", got.Content(), kept.Content())
		}
		if o, err := s.Send(t.Context(), nil, patch); o != nil || err != nil {
			t.Errorf("without a watch: %v, %v", o, err)
		}
	}
}

// TestPatchesAreRepeatedWhenAsked answers that the server is busy, that the kind is deprecated, and
// that there is a conflict.
func TestPatchesAreRepeatedWhenAsked(t *testing.T) {
	p := &patched{answer: readTestdata(t, "deployment.json"), status: http.StatusOK, busy: 2, header: http.Header{"Warning": {`299 - "an old kind"`}}}
	s := p.sender(t)
	w := New(Key{GVK: deployments, Role: Child}, fooRules(t).Reads().Child(deployments))
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: []byte(`{"a":1}`), Manager: "reconcel"}
	if o, err := s.Send(t.Context(), w, patch); err != nil || o.GetName() == "" || p.body != `{"a":1}` {
		t.Errorf("got %v, %v, after %s", o, err, p.body)
	}
	if p.requests != 3 || !slices.Equal(p.warnings, []string{"an old kind"}) {
		t.Errorf("%d requests and the warnings %q, want 3 and one", p.requests, p.warnings)
	}
	p.requests, p.status, p.answer = 0, http.StatusConflict, nil
	if _, err := s.Send(t.Context(), w, patch); !apierrors.IsConflict(err) || p.requests != 1 {
		t.Errorf("%v after %d requests, want a conflict after one", err, p.requests)
	}
}

// BenchmarkAnswer sends an apply, and reads the answer.
func BenchmarkAnswer(b *testing.B) {
	p := &patched{answer: readTestdata(b, "deployment.json"), status: http.StatusOK}
	s := p.sender(b)
	w := New(Key{GVK: deployments, Role: Child}, fooRules(b).Reads().Child(deployments))
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: p.answer, Manager: "reconcel", Force: true}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Send(b.Context(), w, patch); err != nil {
			b.Fatal(err)
		}
	}
}
