package watch

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"reconcel/engine/discover"
)

// A patched server answers every patch with the same text, and keeps the last request.
type patched struct {
	t      testing.TB
	answer []byte
	status int
	header http.Header
	busy   int  // the number of requests that the server asks to repeat
	binary bool // it answers in Protobuf those who accept it

	last     string // method, path, query and headers
	body     string
	accept   string
	requests int
	warnings []string
}

// ServeHTTP implements http.Handler.
func (p *patched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.last = strings.Join([]string{r.Method, r.URL.Path, r.URL.Query().Encode(), r.Header.Get("Content-Type"), r.UserAgent(), strconv.FormatBool(r.ContentLength == int64(len(body)))}, " ")
	p.body, p.accept = string(body), r.Header.Get("Accept")
	p.requests++
	if p.busy > 0 {
		p.busy--
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	maps.Copy(w.Header(), p.header)
	answer, format := p.answer, runtime.ContentTypeJSON
	if p.binary && strings.HasPrefix(p.accept, runtime.ContentTypeProtobuf) {
		if o, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), answer); err == nil {
			answer, format = inProtobuf(p.t, o), runtime.ContentTypeProtobuf
		}
	}
	w.Header().Set("Content-Type", format)
	w.WriteHeader(p.status)
	_, _ = w.Write(answer)
}

// inProtobuf returns an object as the API server sends it.
func inProtobuf(tb testing.TB, o runtime.Object) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := apiprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &out); err != nil {
		tb.Error(err) // It may be another goroutine than that of the test.
	}
	return out.Bytes()
}

// HandleWarningHeader implements rest.WarningHandler.
func (p *patched) HandleWarningHeader(_ int, _, text string) { p.warnings = append(p.warnings, text) }

// senders returns a Sender that reads answers in one pass, and one that does not.
func senders(t *testing.T, p *patched) (direct, indirect Sender) {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	if p == nil {
		server.Close()
	}
	client, err := NewClient(&rest.Config{Host: server.URL + "/prefix", WarningHandler: p, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return Sender{Client: dynamic.New(client), Direct: client}, Sender{Client: dynamic.New(client)}
}

var (
	deploymentKind = discover.Kind{GVK: deployments, GVR: deployments.GroupVersion().WithResource("deployments"), Namespaced: true}
	nodeKind       = discover.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}}
)

// TestSendersAreAlike compares the requests of the two ways to send a patch, and what they
// keep of the answer.
func TestSendersAreAlike(t *testing.T) {
	p := &patched{t: t, answer: readTestdata(t, "deployment.json"), status: http.StatusOK}
	direct, indirect := senders(t, p)
	w := New(Key{GVK: deployments, Role: Child}, fooRules(t).Reads().Child(deployments))
	for _, patch := range []Patch{
		{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: []byte(`{"a":1}`), Manager: "reconcel", Force: true},
		{Kind: deploymentKind, Namespace: "default", Name: "a", Subresource: "status", Type: types.ApplyPatchType, Body: []byte(`{}`), Manager: "reconcel/x&y", Force: true},
		{Kind: nodeKind, Name: "a.b", Type: types.MergePatchType, Body: []byte(`{"b":2}`), Manager: "reconcel"},
		{Kind: nodeKind, Name: "a", Type: types.JSONPatchType, Body: []byte(`[]`)},
	} {
		for _, p.binary = range []bool{false, true, true} { // The last answer meets a used reader.
			want, err := indirect.Send(t.Context(), w, patch)
			if err != nil {
				t.Fatal(err)
			}
			wantRequest, wantBody := p.last, p.body
			if ignored := strings.Contains(p.last, "fieldValidation=Ignore"); ignored != (patch.Type == types.ApplyPatchType) {
				t.Errorf("%s is sent with %s", patch.Type, p.last)
			}
			got, err := direct.Send(t.Context(), w, patch)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(p.accept, runtime.ContentTypeProtobuf) {
				t.Errorf("a Deployment is asked for in %s", p.accept)
			}
			if broken := strings.Contains(p.body, "\n"); broken != (patch.Type == types.ApplyPatchType) {
				t.Errorf("%s is sent as %q", patch.Type, p.body)
			}
			if p.last != wantRequest || strings.ReplaceAll(p.body, "\n", "") != wantBody {
				t.Errorf("the request is %s %s, want %s %s", p.last, p.body, wantRequest, wantBody)
			}
			if !reflect.DeepEqual(got.Content(), want.Content()) || got.Fields() != want.Fields() || got.GetName() != want.GetName() {
				t.Errorf("the answer is %v, want %v", got.Content(), want.Content())
			}
		}
		for _, s := range []Sender{direct, indirect} {
			if o, err := s.Send(t.Context(), nil, patch); o != nil || err != nil {
				t.Errorf("without a watch: %v, %v", o, err)
			}
		}
	}
}

// TestSendersReturnTheSameErrors compares the errors for answers that are not objects.
func TestSendersReturnTheSameErrors(t *testing.T) {
	p := &patched{t: t}
	direct, indirect := senders(t, p)
	w := New(Key{GVK: deployments, Role: Child}, fooRules(t).Reads().Child(deployments))
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: []byte(`{}`), Manager: "reconcel", Force: true}
	for _, c := range []struct {
		status int
		answer string
		is     func(error) bool
	}{
		{http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Conflict","code":409}`, apierrors.IsConflict},
		{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`, apierrors.IsForbidden},
		{http.StatusUnprocessableEntity, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Invalid","code":422,"details":{"causes":[{"field":"spec"}]}}`, apierrors.IsInvalid},
		{http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"NotFound","code":404}`, apierrors.IsNotFound},
		{http.StatusBadGateway, `<html>`, func(err error) bool { return err != nil }},
	} {
		p.status, p.answer = c.status, []byte(c.answer)
		_, want := indirect.Send(t.Context(), w, patch)
		for _, p.binary = range []bool{false, true} {
			_, got := direct.Send(t.Context(), w, patch)
			if !c.is(got) || got.Error() != want.Error() {
				t.Errorf("%d: the error is %v, want %v", c.status, got, want)
			}
		}
	}
	p.status = http.StatusOK
	for _, answer := range []string{``, `{"metadata":{"name":"a"`, `[]`} {
		p.answer = []byte(answer)
		if o, err := direct.Send(t.Context(), w, patch); o != nil || err == nil {
			t.Errorf("%q: got %v, %v", answer, o, err)
		}
	}
	for _, name := range []string{"", "a/b", ".."} {
		patch.Name = name
		if _, err := direct.Send(t.Context(), w, patch); err == nil {
			t.Errorf("a patch of %q is sent", name)
		}
	}
}

// TestSendersRepeatAlike answers that the server is busy, and that the kind is deprecated.
func TestSendersRepeatAlike(t *testing.T) {
	p := &patched{t: t, answer: readTestdata(t, "deployment.json"), status: http.StatusOK}
	direct, indirect := senders(t, p)
	w := New(Key{GVK: deployments, Role: Child}, fooRules(t).Reads().Child(deployments))
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: []byte(`{"a":1}`), Manager: "reconcel"}
	for name, s := range map[string]Sender{"direct": direct, "dynamic": indirect} {
		p.busy, p.requests, p.warnings, p.header = 2, 0, nil, http.Header{"Warning": {`299 - "an old kind"`}}
		o, err := s.Send(t.Context(), w, patch)
		if err != nil || o.GetName() == "" || strings.ReplaceAll(p.body, "\n", "") != `{"a":1}` {
			t.Errorf("%s: got %v, %v, after %s", name, o, err, p.body)
		}
		if p.requests != 3 || !slices.Equal(p.warnings, []string{"an old kind"}) {
			t.Errorf("%s: %d requests and the warnings %q, want 3 and one", name, p.requests, p.warnings)
		}
	}
	for name, s := range map[string]Sender{"direct": direct, "dynamic": indirect} {
		p.requests, p.status, p.answer = 0, http.StatusConflict, nil
		if _, err := s.Send(t.Context(), w, patch); !apierrors.IsConflict(err) || p.requests != 1 {
			t.Errorf("%s: %v after %d requests, want a conflict after one", name, err, p.requests)
		}
	}
}

// TestUnreachable compares the errors when nothing listens.
func TestUnreachable(t *testing.T) {
	direct, indirect := senders(t, nil)
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: []byte(`{}`), Manager: "reconcel", Force: true}
	for name, s := range map[string]Sender{"direct": direct, "dynamic": indirect} {
		_, err := s.Send(t.Context(), nil, patch)
		if _, is := errors.AsType[*url.Error](err); !is || !utilnet.IsConnectionRefused(err) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// BenchmarkAnswer reads the answer to an apply.
func BenchmarkAnswer(b *testing.B) {
	p := &patched{t: b, answer: readTestdata(b, "deployment.json"), status: http.StatusOK}
	server := httptest.NewServer(p)
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		b.Fatal(err)
	}
	w := New(Key{GVK: deployments, Role: Child}, fooRules(b).Reads().Child(deployments))
	patch := Patch{Kind: deploymentKind, Namespace: "default", Name: "a", Type: types.ApplyPatchType, Body: p.answer, Manager: "reconcel", Force: true}
	for name, s := range map[string]Sender{"direct": {Client: dynamic.New(client), Direct: client}, "dynamic": {Client: dynamic.New(client)}} {
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

// BenchmarkParseApply parses an apply as the API server does, with the line break and without.
func BenchmarkParseApply(b *testing.B) {
	body, err := os.ReadFile("testdata/apply.json")
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"as sent":     Patch{Type: types.ApplyPatchType, Body: body}.yaml(),
		"on one line": body,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := yaml.Unmarshal(text, &map[string]any{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
