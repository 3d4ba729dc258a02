//go:build integration

package engine_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// world is a namespace with engines that run in the test's own process. The names of
// their rules are unique across worlds: an engine prunes objects that a rule of the same
// name has created elsewhere.
type world struct {
	*e2e.World
	wrap func(http.RoundTripper) http.RoundTripper // between the engines and the API server, or nil
}

// newWorld returns a world for a test that runs in parallel with others.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorldAlone(t)
}

// newWorldAlone returns a world for a test that runs alone, because it measures time.
func newWorldAlone(t *testing.T) *world {
	t.Helper()
	return &world{World: e2e.New(t, devcluster.Shared(t))}
}

func (w *world) fooCRD() string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join("..", "crds", "samplecontroller.k8s.io_foos.yaml"))
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

type instance struct {
	*engine.Engine
	stop func()
	log  *e2e.Log
}

// run starts an engine on rules. NAMESPACE stands for the world's namespace.
func (w *world) run(src string) *instance {
	w.Helper()
	return w.runWith(access.Options{}, src)
}

// runWith is run with options.
func (w *world) runWith(options access.Options, src string) *instance {
	w.Helper()
	in := w.startWith(options, src)
	w.Eventually("the engine to be ready", in.Ready)
	return in
}

// startWith is runWith without waiting until the engine is ready.
func (w *world) startWith(options access.Options, src string) *instance {
	w.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(w.Fill(src))}})
	if err != nil {
		w.Fatal(err)
	}
	log := &e2e.Log{}
	config := options.Config
	if config == nil {
		config = w.Cluster.UserConfig(w.T, "reconcel")
	}
	config.QPS = -1
	if w.wrap != nil {
		config.Wrap(w.wrap)
	}
	options.Config, options.Namespace = config, w.Namespace
	if options.RemovalGrace == 0 {
		options.RemovalGrace = time.Second
	}
	options.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := engine.New(options, program)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	in := &instance{Engine: e, log: log, stop: sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				w.Errorf("engine: %v", err)
			}
		case <-time.After(20 * time.Second):
			w.Error("the engine did not stop within 20 s")
		}
	})}
	w.Cleanup(func() {
		in.stop()
		if w.Failed() {
			w.Logf("log of the engine:\n%s", log)
		}
		if strings.Contains(log.String(), "level=ERROR") {
			w.Errorf("the engine logged an error:\n%s", log)
		}
	})
	return in
}

// Kinds of many tests.
var (
	deployments = e2e.Deployment
	configs     = e2e.ConfigMap
	foos        = e2e.Foo
	widgets     = e2e.Widget
)
