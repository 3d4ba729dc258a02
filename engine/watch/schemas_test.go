package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/test/e2e"
)

// A lateKind has a schema some time after its start.
type lateKind struct {
	oneKind
	from time.Time
	read *atomic.Int64 // how often it was requested
}

func (k lateKind) Ownership(context.Context, schema.GroupVersionKind) (discover.Ownership, error) {
	if k.read.Add(1); time.Now().Before(k.from) {
		return discover.Ownership{}, errors.New("no schema")
	}
	return discover.Ownership{ConditionFields: []string{"type"}}, nil
}

// TestLateSchema publishes a schema long after its kind. The kind works without a schema after half a minute, and with
// the schema soon after that is published; its objects are then reconciled again.
func TestLateSchema(t *testing.T) {
	for late, mostRequests := range map[time.Duration]int64{0: 1, 20 * time.Second: 21, time.Minute: 35, 3 * time.Hour: 100} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				custom := discover.Kind{GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}, GVR: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}, Namespaced: true}
				served := e2e.Served{List: func(string) ([]string, error) { return nil, nil }, Watch: func() (io.ReadCloser, error) {
					body, in := io.Pipe()
					context.AfterFunc(t.Context(), func() { _ = in.Close() })
					return body, nil
				}}
				var requests, listed atomic.Int64
				ws := &Watcher{Client: served.Client(t), Log: slog.New(slog.DiscardHandler), Kinds: lateKind{oneKind{kind: custom}, time.Now().Add(late), &requests}}
				w := New(Key{GVK: custom.GVK, Role: Primary}, rules.VisibleToRules())
				w.Notify(func(*Object) {}, func() { listed.Add(1) })
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { ws.keep(ctx, w, custom) })
				known := func() bool {
					c, err := w.Cache()
					return err == nil && !c.HasConditionField("reason")
				}
				time.Sleep(schemaRetries*schemaRetry + time.Second)
				synctest.Wait()
				c, err := w.Cache()
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := c.Conditions(); !ok {
					t.Error("half a minute later, objects still wait for the schema")
				}
				before := listed.Load()
				time.Sleep(max(0, late-time.Minute))
				synctest.Wait()
				if late > time.Minute && (known() || listed.Load() != before) {
					t.Error("it is known before")
				}
				time.Sleep(7 * time.Minute)
				synctest.Wait()
				if !known() {
					t.Error("the schema is not known after it was published")
				}
				if late > schemaRetries*schemaRetry && listed.Load() != before+1 {
					t.Errorf("the objects were reconciled %d times again", listed.Load()-before)
				}
				if requests.Load() > mostRequests {
					t.Errorf("%d requests", requests.Load())
				}
				cancel()
				running.Wait()
			})
		})
	}
}
