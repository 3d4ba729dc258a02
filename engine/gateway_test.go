package engine

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"reconcel/engine/discover"
)

// TestKindsBehindAGateway looks for kinds while a gateway has no API server behind it, and while an API
// server does not serve them. Only in the second case the kinds are absent.
func TestKindsBehindAGateway(t *testing.T) {
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		absent bool
	}{
		"gateway": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("<html>no such site</html>"))
		}, false},
		"API server": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api" && r.URL.Path != "/apis" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}")) // No groups.
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			clients, err := connect(&rest.Config{Host: server.URL, QPS: -1}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			kinds := discover.NewKinds(clients.discovery)
			for _, gvk := range []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Group: "example.com", Version: "v1", Kind: "Widget"}} {
				_, found := kinds.Find(t.Context(), gvk)
				_, inAny := discover.AnyVersion(t.Context(), kinds, gvk.GroupKind())
				for _, err := range []error{found, inAny} {
					if err == nil || discover.IsNoKind(err) != c.absent {
						t.Errorf("%s: absent is %t, error %v", gvk.Kind, !c.absent, err)
					}
				}
			}
		})
	}
}
