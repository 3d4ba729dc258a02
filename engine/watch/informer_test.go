package watch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reconcel/rules"
	"reconcel/test/e2e"
)

// TestInformerTellsWhatHasChanged fills a cache by a list, by events, and by another list, as after
// an outage.
func TestInformerTellsWhatHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		tell := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, text)
		}
		service := func(name, version string) string {
			return fmt.Sprintf(`{"kind":"Service","apiVersion":"v1","metadata":{"namespace":"a","name":%q,"resourceVersion":%q}}`, name, version)
		}
		lists := [][]string{
			{service("x", "1"), service("y", "2"), service("same", "3")},
			{service("x", "8"), service("v", "9"), service("same", "3")},
		}
		var stream *io.PipeWriter
		served := e2e.Served{
			List: func(string) ([]string, error) {
				next := lists[0]
				if len(lists) > 1 {
					lists = lists[1:]
				}
				return next, nil
			},
			Watch: func() (io.ReadCloser, error) {
				body, in := io.Pipe()
				stream = in
				return body, nil
			},
		}
		w := New(Key{GVK: services.GVK, Role: Child}, rules.VisibleToRules())
		w.Notify(func(o *Object) { tell("changed " + o.GetName() + " " + o.GetResourceVersion()) }, func() { tell("listed") })
		ctx, cancel := context.WithCancel(t.Context())
		ws := &Watcher{Client: served.Client(t), Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: services}}
		var running sync.WaitGroup
		running.Go(func() { ws.keep(ctx, w, services) })
		event := func(kind, object string) func() {
			return func() { _, _ = fmt.Fprintf(stream, `{"type":%q,"object":%s}`, kind, object) }
		}
		for _, step := range []struct {
			what    string
			do      func()
			version string
			want    []string
		}{
			{"first list", func() {}, "1", []string{"listed"}},
			{"added", event("ADDED", service("z", "4")), "4", []string{"changed z 4"}},
			{"changed", event("MODIFIED", service("x", "5")), "5", []string{"changed x 5"}},
			{"deleted", event("DELETED", service("z", "6")), "6", []string{"changed z 6"}},
			{"bookmark", event("BOOKMARK", service("", "7")), "7", nil},
			{"later list", func() {
				event("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)()
				time.Sleep(time.Minute)
			}, "1", []string{
				"changed same 3", "changed v 9", "changed x 8", "changed y 2",
			}},
		} {
			synctest.Wait()
			if step.what != "first list" {
				told = nil
			}
			step.do()
			synctest.Wait()
			slices.Sort(told)
			if !slices.Equal(told, step.want) {
				t.Errorf("%s: told %q, want %q", step.what, told, step.want)
			}
			if got := w.States()[0].Version; got != step.version {
				t.Errorf("%s: the cache is at version %s, want %s", step.what, got, step.version)
			}
		}
		if n := w.States()[0].Objects; n != 3 {
			t.Errorf("the cache has %d objects, want x, v and same", n)
		}
		_ = stream.Close()
		cancel()
		running.Wait()
	})
}
