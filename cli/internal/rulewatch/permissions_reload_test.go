package rulewatch

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/test/e2e"
)

// TestPermissionCheckBlocksNothing has an API server that never says what is allowed.
func TestPermissionCheckBlocksNothing(t *testing.T) {
	asked, ended := make(chan struct{}, 100), atomic.Int64{}
	server := e2e.Handled{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
		ended.Add(1)
	})}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("a"))
	w, f, _ := watchOf(file)
	needed := result{needed: []deploy.Access{{Target: deploy.Target{Resource: "pods"}, Verbs: []string{"list"}}}}
	w.Validator = &Validator{Config: &rest.Config{Host: "https://api.invalid", Transport: server}, Log: w.Log, Metrics: w.Metrics, checked: needed}
	w.Check = func(context.Context, *rules.Loaded) error {
		w.Validator.checked = needed
		return nil
	}
	w.Reload = func(ctx context.Context, p *rules.Program) error {
		if n := ended.Load(); n > 0 {
			t.Errorf("rules were followed only after %d requests had ended", n)
		}
		return f.follow(ctx, p)
	}
	startWatch(t, w)
	<-asked
	write(t, file, named("b"))
	awaitState(t, f, "b", 0)
	select {
	case <-asked:
	case <-time.After(e2e.Patience):
		t.Errorf("after %s the permissions of the new rules are not checked", e2e.Patience)
	}
}

// TestPermissionsAreAskedWhenThereIsAnAnswer has an API server that did not answer
// at the start.
func TestPermissionsAreAskedWhenThereIsAnAnswer(t *testing.T) {
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/openapi/v3" {
			_, _ = io.WriteString(w, `{"paths":{}}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	l := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(deploymentRule)}})
	f := &Validator{
		Config: &rest.Config{Host: server.URL}, Log: slog.New(slog.DiscardHandler),
		Metrics: NewMetrics(prometheus.NewRegistry()),
	}
	t.Cleanup(f.stopReview)
	f.activated(t.Context())
	f.recheck(t.Context(), l)
	select {
	case <-asked:
	case <-time.After(e2e.Patience):
		t.Fatalf("after %s the permissions of the rules are not checked", e2e.Patience)
	}
	f.recheck(t.Context(), l)
	f.stopReview()
	if len(asked) > 0 {
		t.Error("it is asked again, though the rules are the same")
	}
}
