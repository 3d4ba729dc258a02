package rulewatch

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/cluster"
	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/source"
)

// TestPermissionCheckBlocksNothing has an API server that never says what is allowed.
func TestPermissionCheckBlocksNothing(t *testing.T) {
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Otherwise the server does not notice that the client is gone.
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close) // After the watch has ended.
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("a"))
	w, f, _ := watchOf(file)
	needed := result{needed: []deploy.Access{{Target: deploy.Target{Resource: "pods"}, Verbs: []string{"list"}}}}
	w.Validator = &Validator{Config: &rest.Config{Host: server.URL}, Log: w.Log, Metrics: w.Metrics, checked: needed}
	w.Check = func(context.Context, *rules.Loaded) error {
		w.Validator.checked = needed
		return nil
	}
	started := time.Now()
	startWatch(t, w)
	<-asked
	write(t, file, named("b"))
	awaitState(t, f, "b", 0)
	if took := time.Since(started); took > cluster.JudgeTimeout/2 {
		t.Errorf("rules were followed after %s", took)
	}
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.Error("after 10 s the permissions of the new rules are not checked")
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
	case <-time.After(10 * time.Second):
		t.Fatal("after 10 s the permissions of the rules are not checked")
	}
	f.recheck(t.Context(), l)
	f.stopReview()
	if len(asked) > 0 {
		t.Error("it is asked again, though the rules are the same")
	}
}
