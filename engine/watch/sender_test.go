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

// senders returns the two senders to a server.
func (p *patched) senders(tb testing.TB) map[string]Sender {
	tb.Helper()
	server := httptest.NewServer(p)
	tb.Cleanup(server.Close)
	config := dynamic.ConfigFor(&rest.Config{Host: server.URL + "/prefix", WarningHandler: p, QPS: -1, APIPath: "/"})
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]Sender{"direct": Direct{client}, "dynamic": Dynamic{dynamic.New(client)}}
}

var (
	deploymentKind = discover.Kind{GVK: deployments, GVR: deployments.GroupVersion().WithResource("deployments"), Namespaced: true}
	nodeKind       = discover.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}}
)

func TestPatchesAreSentAsTheySay(t *testing.T) {
	p := &patched{answer: readTestdata(t, "deployment.json"), status: http.StatusOK}
	senders := p.senders(t)
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
		for name, s := range senders {
			got, err := s.Send(t.Context(), w, patch)
			if err != nil {
				t.Fatal(err)
			}
			if p.last != want || p.body != string(patch.Body) {
				t.Errorf("%s: the request is %s %s, want %s %s", name, p.last, p.body, want, patch.Body)
			}
			if !reflect.DeepEqual(got.Content(), kept.Content()) || got.Fields() != kept.Fields() || got.GetName() != kept.GetName() {
				t.Errorf("%s: the answer is %v, want %v", name, got.Content(), kept.Content())
			}
			if o, err := s.Send(t.Context(), nil, patch); o != nil || err != nil {
				t.Errorf("%s, without a watch: %v, %v", name, o, err)
			}
		}
	}
}

// TestPatchesAreRepeatedWhenAsked answers that the server is busy, that the kind is deprecated, and
// that there is a conflict.
func TestPatchesAreRepeatedWhenAsked(t *testing.T) {
	p := &patched{}
	w := New(Key{GVK: deployments, Role: Child}, fooRules(t).Reads().Child(deployments))
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: []byte(`{"a":1}`), Manager: "reconcel"}
	for name, s := range p.senders(t) {
		*p = patched{answer: readTestdata(t, "deployment.json"), status: http.StatusOK, busy: 2, header: http.Header{"Warning": {`299 - "an old kind"`}}}
		if o, err := s.Send(t.Context(), w, patch); err != nil || o.GetName() == "" || p.body != `{"a":1}` {
			t.Errorf("%s: got %v, %v, after %s", name, o, err, p.body)
		}
		if p.requests != 3 || !slices.Equal(p.warnings, []string{"an old kind"}) {
			t.Errorf("%s: %d requests and the warnings %q, want 3 and one", name, p.requests, p.warnings)
		}
		p.status = http.StatusUnprocessableEntity
		p.answer = []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Invalid","code":422}`)
		if _, err := s.Send(t.Context(), w, patch); !apierrors.IsInvalid(err) || err.Error() != "no" {
			t.Errorf("%s: the error is %v, want that of the API server", name, err)
		}
		p.requests, p.status, p.answer = 0, http.StatusConflict, nil
		if _, err := s.Send(t.Context(), w, patch); !apierrors.IsConflict(err) || p.requests != 1 {
			t.Errorf("%s: %v after %d requests, want a conflict after one", name, err, p.requests)
		}
		p.status = http.StatusOK
		for _, answer := range []string{`{"metadata":{"name":"a"`, `[]`} {
			p.answer = []byte(answer)
			if o, err := s.Send(t.Context(), w, patch); o != nil || err == nil {
				t.Errorf("%s: %q: got %v, %v", name, answer, o, err)
			}
		}
		for _, bad := range []string{"", "a/b", ".."} {
			p.requests, p.answer = 0, readTestdata(t, "deployment.json")
			for _, unsent := range []Patch{{Name: bad, Namespace: "default"}, {Name: "a", Namespace: bad + "/"}} {
				unsent.Kind, unsent.Type, unsent.Body = patch.Kind, patch.Type, patch.Body
				if _, err := s.Send(t.Context(), w, unsent); err == nil || p.requests > 0 {
					t.Errorf("%s: a patch of %q in %q is sent: %v", name, unsent.Name, unsent.Namespace, err)
				}
			}
		}
	}
}

// BenchmarkAnswer sends an apply, and reads the answer.
func BenchmarkAnswer(b *testing.B) {
	p := &patched{answer: readTestdata(b, "deployment.json"), status: http.StatusOK}
	w := New(Key{GVK: deployments, Role: Child}, fooRules(b).Reads().Child(deployments))
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: p.answer, Manager: "reconcel", Force: true}
	for name, s := range p.senders(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Send(b.Context(), w, patch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
