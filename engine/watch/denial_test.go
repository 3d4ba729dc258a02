package watch

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/test/e2e"
)

const (
	lostLine     = `level=WARN msg="lost permission to watch; cached data may be stale" kind="/v1, Kind=Service"`
	restoredLine = `level=INFO msg="watch permission restored" kind="/v1, Kind=Service"`
)

// denied follows Services that may be watched for a minute, then not for a
// while, and then again for a minute. What may be listed meanwhile is none of
// its business: lists go on.
func denied(t *testing.T, during time.Duration) *e2e.Log {
	t.Helper()
	k, log := services, &e2e.Log{}
	began := time.Now()
	denies := func() bool {
		passed := time.Since(began)
		return passed >= time.Minute && passed < time.Minute+during
	}
	served := e2e.Served{Watch: func() (io.ReadCloser, error) {
		if denies() {
			return nil, apierrors.NewForbidden(k.GVR.GroupResource(), "", nil)
		}
		events, end := io.Pipe()
		if time.Since(began) < time.Minute {
			time.AfterFunc(time.Minute-time.Since(began), func() { _ = end.Close() })
		}
		return events, nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+during)
	defer cancel()
	ws := &Watcher{Client: served.Client(t), Log: slog.New(slog.NewTextHandler(log, nil)), Kinds: oneKind{kind: k}, Waiter: &discover.Waiter{}}
	ws.Start(ctx, silent(Key{GVK: k.GVK}))
	ws.Wait()
	return log
}

// An API server that restarts denies everything until it has read its roles.
func TestRestartOfTheAPIServerIsNoLostPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if log := denied(t, 9*time.Second); log.Count("permission") > 0 {
			t.Errorf("it reads as a lost permission:\n%s", log)
		}
	})
}

func TestLostPermissionIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := denied(t, 5*time.Minute)
		if log.Count(lostLine) != 1 || log.Count(restoredLine) != 1 {
			t.Errorf("want one line when it is lost and one when it is restored:\n%s", log)
		}
	})
}

// Who waits for a lost permission to be told must not wait for more than a
// minute.
func TestLostPermissionIsReportedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if log := denied(t, 50*time.Second); log.Count(lostLine) != 1 {
			t.Errorf("it is not told within 50 s:\n%s", log)
		}
	})
}

// TestGrantedListIsUsedSoon may neither list nor watch Services for a minute, and then list them.
func TestGrantedListIsUsedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, began := services, time.Now()
		forbidden := apierrors.NewForbidden(k.GVR.GroupResource(), "", nil)
		served := e2e.Served{
			List: func(string) ([]string, error) {
				if time.Since(began) < time.Minute {
					return nil, forbidden
				}
				return nil, nil
			},
			Watch: func() (io.ReadCloser, error) { return nil, forbidden },
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		ws := &Watcher{Client: served.Client(t), Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: k}, Waiter: &discover.Waiter{}}
		w := New(Key{GVK: k.GVK}, rules.VisibleToRules())
		var listed time.Duration
		w.Notify(func(*Object) {}, func() {
			listed = time.Since(began)
			cancel()
		})
		ws.Start(ctx, w)
		ws.Wait()
		if listed == 0 || listed > time.Minute+30*time.Second {
			t.Errorf("they are listed after %v, and may be after a minute", listed)
		}
	})
}
