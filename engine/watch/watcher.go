package watch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"reconcel/engine/answer"
	"reconcel/engine/discover"
)

// A Watcher runs watches on a cluster.
type Watcher struct {
	Client    rest.Interface
	Kinds     discover.Kinds
	Waiter    *discover.Waiter
	Discovery discovery.DiscoveryInterfaceWithContext
	Scope     Scope
	Log       *slog.Logger
	// Restored is called when the API server has gone back to an earlier state. No cache
	// and nothing that was concluded from one holds any more.
	Restored func(RestoredError)

	running sync.WaitGroup
}

// Start runs a watch until ctx ends or the watch is stopped.
func (ws *Watcher) Start(ctx context.Context, w *Watch) {
	ctx, w.stop = context.WithCancel(ctx)
	ws.running.Go(func() {
		// Wait in between: the API server may list a kind in discovery and not serve it.
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if k, ok := ws.awaitKind(ctx, w); ok {
				ws.keep(ctx, w, k)
			}
		}, discover.PollInterval)
	})
}

// Wait returns when all watches have ended.
func (ws *Watcher) Wait() { ws.running.Wait() }

// awaitKind returns the kind when the API server serves it, or false if ctx ends
// first.
func (ws *Watcher) awaitKind(ctx context.Context, w *Watch) (discover.Kind, bool) {
	for {
		mark := ws.Waiter.Mark()
		k, err := ws.Kinds.Find(ctx, w.GVK)
		if err == nil {
			err = k.CheckScope(w.ScopeIn(ws.Scope))
		}
		if err == nil {
			w.problem.Store(nil) // The kind is known now, and not listed yet.
			return k, true
		}
		if ctx.Err() != nil {
			return discover.Kind{}, false // The error says only that.
		}
		ws.notServed(w, err)
		if !ws.Waiter.Wait(ctx, mark, err) {
			return discover.Kind{}, false
		}
	}
}

// isNews reports whether a problem differs from the previous one, and stores it then.
func isNews(problem *atomic.Pointer[error], err error) bool {
	old := problem.Load()
	if old != nil && isSame(*old, err) {
		return false
	}
	problem.Store(&err)
	return true
}

// isSame reports whether two errors say the same.
func isSame(a, b error) bool { return answer.Shape(a.Error()) == answer.Shape(b.Error()) }

func (ws *Watcher) notServed(w *Watch, err error) {
	if isNews(&w.problem, err) {
		ws.Log.Warn("cannot watch, will retry", "kind", w.GVK.String(), "error", err)
	}
}

// unlisted records why a namespaced cache is not listed. It reports false, and records nothing, if it is: a list may
// complete while its watch fails.
func (ws *Watcher) unlisted(w *Watch, n *namespaced, err error) bool {
	if n.namespace != "" {
		err = fmt.Errorf("namespace %s: %w", n.namespace, err)
	}
	listed, news := n.lacks(err)
	if news {
		n.logger(ws.Log).Warn("cannot watch, will retry", "kind", w.GVK.String(), "error", err)
	}
	return !listed
}
