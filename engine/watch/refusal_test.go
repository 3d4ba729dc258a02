package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/discover"
	"reconcel/test/e2e"
)

const (
	failsLine    = `level=WARN msg="watch fails; cached data may be stale" kind="/v1, Kind=Service"`
	recoversLine = `level=INFO msg="watch restored" kind="/v1, Kind=Service"`
	aService     = `{"kind":"Service","apiVersion":"v1","metadata":{"namespace":"a","name":"x","resourceVersion":"1"}}`
)

// A refusing API server serves one Service until refuse is called.
type refusing struct {
	list, watch func() error // after refuse
	refused     atomic.Bool
	lists       atomic.Int64
	stream      atomic.Pointer[io.PipeWriter] // the last watch
}

func (r *refusing) refuse() {
	r.refused.Store(true)
	_ = r.stream.Load().Close()
}

func (r *refusing) served() e2e.Served {
	return e2e.Served{
		List: func(string) ([]string, error) {
			if r.refused.Load() && r.list != nil {
				return nil, r.list()
			}
			r.lists.Add(1)
			return []string{aService}, nil
		},
		Watch: func() (io.ReadCloser, error) {
			if r.refused.Load() && r.watch != nil {
				return nil, r.watch()
			}
			body, in := io.Pipe()
			r.stream.Store(in)
			if r.refused.Load() {
				go func() { _, _ = io.WriteString(in, `{"type":"ERROR","object":`+conversionStatus+`}`) }()
			}
			return body, nil
		},
	}
}

// startWatch watches Services until the test ends.
func (r *refusing) startWatch(t *testing.T) (*Watch, *e2e.Log) {
	t.Helper()
	log := &e2e.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ws := &Watcher{Client: r.served().Client(t), Log: slog.New(slog.NewTextHandler(log, nil)), Kinds: oneKind{kind: services}, Waiter: &discover.Waiter{}}
	w := silent(Key{GVK: services.GVK})
	ws.Start(ctx, w)
	t.Cleanup(func() {
		cancel()
		ws.Wait()
	})
	time.Sleep(10 * time.Second)
	return w, log
}

const (
	conversion       = "conversion webhook for acme.io/v1 failed"
	conversionStatus = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"reason":"TooManyRequests","message":"` + conversion + `"}`
)

// TestRefusedWatchIsReported lists a kind, and then has the API server refuse its watch, for example
// because a conversion webhook is down. The objects stay in the cache.
func TestRefusedWatchIsReported(t *testing.T) {
	busy := func() error { return apierrors.NewTooManyRequests(conversion, 1) }
	broken := func() error { return apierrors.NewInternalError(errors.New(conversion)) }
	for name, server := range map[string]*refusing{
		"429":                       {list: busy, watch: busy},
		"500":                       {list: broken, watch: broken},
		"429 only for watches":      {watch: busy},
		"429 as an event":           {list: busy},
		"500 only for watches":      {watch: broken},
		"429 for watches, then 500": {list: broken, watch: busy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, log := server.startWatch(t)
				if s := w.States()[0]; !s.Synced {
					t.Fatalf("it is not synced at first: %+v", s)
				}
				server.refuse()
				time.Sleep(2 * time.Minute)
				if s := w.States()[0]; s.Synced || !strings.Contains(s.Problem, conversion) || s.Objects != 1 {
					t.Errorf("after two minutes: %+v", s)
				}
				if c, err := w.Cache(); err != nil || c.Unlisted() != nil {
					t.Errorf("the objects are unknown now: %v", err)
				}
				if log.Count(failsLine) != 1 || log.Count(conversion) == 0 {
					t.Errorf("it is not logged once:\n%s", log)
				}
				server.refused.Store(false)
				time.Sleep(2 * time.Minute)
				if s := w.States()[0]; !s.Synced || log.Count(recoversLine) != 1 {
					t.Errorf("after the end: %+v\n%s", s, log)
				}
			})
		})
	}
}

// TestShortRefusalIsNoWarning has an API server that is busy for some seconds.
func TestShortRefusalIsNoWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &refusing{watch: func() error { return apierrors.NewTooManyRequests("busy", 1) }}
		w, log := server.startWatch(t)
		server.refuse()
		time.Sleep(5 * time.Second)
		server.refused.Store(false)
		time.Sleep(time.Minute)
		if s := w.States()[0]; !s.Synced || log.Count("level=WARN") > 0 {
			t.Errorf("%+v\n%s", s, log)
		}
	})
}

// TestMissingPermissionAfterAFailure has a first list fail, which is reported. Then the permission to
// watch is missing, which is another problem.
func TestMissingPermissionAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server := &refusing{
			list: func() error {
				if time.Since(began) < 5*time.Second {
					return apierrors.NewInternalError(errors.New("etcd has no leader"))
				}
				return nil
			},
			watch: func() error { return apierrors.NewForbidden(services.GVR.GroupResource(), "", nil) },
		}
		server.refused.Store(true)
		_, log := server.startWatch(t)
		time.Sleep(time.Minute)
		if log.Count(`msg="cannot watch, will retry"`) == 0 || log.Count(lostLine) != 1 {
			t.Errorf("both are not logged:\n%s", log)
		}
	})
}

// TestListWithoutWatch has permission to list and not to watch. The missing permission is reported, the
// objects are not listed again all the time, and the permission is noticed soon when it is there.
func TestListWithoutWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lacking = `User "reconcel" cannot watch resource "services"`
		server := &refusing{watch: func() error {
			return apierrors.NewForbidden(services.GVR.GroupResource(), "", errors.New(lacking))
		}}
		server.refused.Store(true)
		w, log := server.startWatch(t)
		time.Sleep(time.Hour)
		if s := w.States()[0]; s.Synced || !strings.Contains(s.Problem, lacking) || s.Objects != 1 {
			t.Errorf("the state is %+v", s)
		}
		if c, err := w.Cache(); err != nil || c.Unlisted() != nil {
			t.Errorf("the listed objects are unknown: %v", err)
		}
		if log.Count("level=WARN") != 1 || log.Count(lostLine) != 1 {
			t.Errorf("it is not logged once:\n%s", log)
		}
		if n := server.lists.Load(); n < 10 || n > 15 {
			t.Errorf("%d lists in an hour, want one each 5 minutes", n)
		}
		server.refused.Store(false)
		time.Sleep(30 * time.Second)
		if s := w.States()[0]; !s.Synced || s.Objects != 1 {
			t.Errorf("30 s after it may watch: %+v", s)
		}
	})
}

// TestWatchThatFailsAsItsListCompletes has the API server refuse the first watch, at the moment at which its list becomes
// known. The objects are listed, whichever of the two is first.
func TestWatchThatFailsAsItsListCompletes(t *testing.T) {
	t.Parallel()
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			var watches atomic.Int64
			served := e2e.Served{
				List: func(string) ([]string, error) { return []string{aService}, nil },
				Watch: func() (io.ReadCloser, error) {
					if watches.Add(1) == 1 {
						return nil, apierrors.NewConflict(services.GVR.GroupResource(), "x", errors.New("refused once"))
					}
					body, _ := io.Pipe()
					return body, nil
				},
			}
			ctx, cancel := context.WithCancel(t.Context())
			ws := &Watcher{Client: served.Client(t), Kinds: oneKind{kind: services}, Log: slog.New(slog.DiscardHandler)}
			w := silent(Key{GVK: services.GVK})
			done := make(chan struct{})
			go func() { defer close(done); ws.keep(ctx, w, services) }()
			time.Sleep(time.Minute)
			if c, err := w.Cache(); err != nil || c.Unlisted() != nil || watches.Load() < 2 {
				t.Errorf("a minute after the watch failed: %d watches, %v, unlisted: %v", watches.Load(), err, c.Unlisted())
			}
			cancel()
			<-done
		})
		if t.Failed() {
			return
		}
	}
}
