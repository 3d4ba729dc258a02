package discover

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"reconcel/test/e2e"
)

// aggregated are the groups of an API server: dead.example.com has a backend that does not
// answer, and so has one of the two versions of half.example.com.
const aggregated = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
{"metadata":{"name":"dead.example.com"},"versions":[{"version":"v1","freshness":"Stale"}]},
{"metadata":{"name":"half.example.com"},"versions":[{"version":"v2","freshness":"Stale"},{"version":"v1","freshness":"Current"}]}]}`

// answering returns the kinds of an API server. The backend of the dead versions gets the
// requests for them.
func answering(t *testing.T, backend http.HandlerFunc) Kinds {
	t.Helper()
	text := func(contentType, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write([]byte(text))
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/apis", text("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", aggregated))
	mux.Handle("/apis/half.example.com/v1", text("application/json",
		`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"half.example.com/v1","resources":[{"name":"things","kind":"Thing","verbs":["list"]}]}`))
	mux.Handle("/openapi/v3", text("application/json",
		`{"paths":{"apis/dead.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/dead.example.com/v1?hash=1"}}}`))
	for _, path := range []string{"/apis/dead.example.com/v1", "/apis/half.example.com/v2", "/openapi/v3/apis/dead.example.com/v1"} {
		mux.Handle(path, backend)
	}
	return kindsOf(t, mux)
}

// kindsOf returns the kinds of an API server that has half a minute for each answer.
func kindsOf(t *testing.T, server http.Handler) Kinds {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(
		&rest.Config{Host: "https://api.invalid", Transport: e2e.Handled{Handler: server}, QPS: -1, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return NewKinds(client)
}

func hanging(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// TestDeadBackend asks for kinds of a backend that answers 503, or nothing. They are unknown, and
// not absent.
func TestDeadBackend(t *testing.T) {
	for name, backend := range map[string]http.HandlerFunc{
		"unavailable": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "service unavailable", http.StatusServiceUnavailable)
		},
		"hanging": hanging,
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testDeadBackend(t, answering(t, backend)) }) })
	}
}

func testDeadBackend(t *testing.T, kinds Kinds) {
	gk := schema.GroupKind{Group: "dead.example.com", Kind: "Thing"}
	_, found := kinds.Find(t.Context(), gk.WithVersion("v1"))
	_, inAny := AnyVersion(t.Context(), kinds, gk)
	_, conditions := kinds.Ownership(t.Context(), gk.WithVersion("v1"))
	for _, err := range []error{found, inAny, conditions} {
		if !IsUnavailable(err) || IsNoKind(err) || !strings.HasPrefix(err.Error(), "API dead.example.com/v1 is unavailable (see kubectl get apiservice v1.dead.example.com): ") {
			t.Errorf("%v", err)
		}
	}
	versions, err := kinds.Versions(t.Context(), "half.example.com")
	if diff := cmp.Diff([]string{"v1", "v2"}, versions); err != nil || diff != "" {
		t.Errorf("%v, versions (-want +got):\n%s", err, diff)
	}
	if k, err := AnyVersion(t.Context(), kinds, schema.GroupKind{Group: "half.example.com", Kind: "Thing"}); err != nil || k.GVR.Resource != "things" {
		t.Errorf("in the version that answers: %v, %v", k, err)
	}
	if _, err := AnyVersion(t.Context(), kinds, schema.GroupKind{Group: "half.example.com", Kind: "Other"}); !IsUnavailable(err) {
		t.Errorf("a kind that the dead version may have: %v", err)
	}
}

// TestDeadAPIServer asks an API server that does not answer at all: no group is to blame.
func TestDeadAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := kindsOf(t, http.HandlerFunc(hanging)).Find(t.Context(), schema.GroupVersionKind{Group: "dead.example.com", Version: "v1", Kind: "Thing"})
		if err == nil || IsUnavailable(err) || IsNoKind(err) {
			t.Errorf("%v", err)
		}
	})
}
