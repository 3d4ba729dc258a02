package reach

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A network answers a request after a while with a status, or an error.
type network struct {
	takes  time.Duration
	status int
	err    error
}

// RoundTrip implements http.RoundTripper.
func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(n.takes):
	}
	if n.err != nil {
		return nil, n.err
	}
	return &http.Response{StatusCode: n.status, Body: http.NoBody}, nil
}

func send(ctx context.Context, m *Monitor, by network) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "https://api.invalid/", http.NoBody)
	if response, err := m.Wrap(by).RoundTrip(r); err == nil {
		_ = response.Body.Close()
	}
}

// seconds returns the value of the metric.
func seconds(t *testing.T, m *Monitor) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.Metric())
	all, err := registry.Gather()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0].GetMetric()[0].GetGauge().GetValue()
}

func TestWhichResultsMeanUnreachable(t *testing.T) {
	refused := errors.New("connection refused")
	for name, c := range map[string]struct {
		by   network
		want bool
	}{
		"an answer":          {network{status: http.StatusOK}, false},
		"forbidden":          {network{status: http.StatusForbidden}, false},
		"not found":          {network{status: http.StatusNotFound}, false},
		"too many requests":  {network{status: http.StatusTooManyRequests}, false},
		"internal error":     {network{status: http.StatusInternalServerError}, false},
		"unauthorized":       {network{status: http.StatusUnauthorized}, true},
		"connection refused": {network{err: refused}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var m Monitor
				for range 3 {
					send(t.Context(), &m, c.by)
					time.Sleep(10 * time.Second)
				}
				err := m.Unreachable(15 * time.Second)
				if (err != nil) != c.want {
					t.Fatalf("after 20 s: %v", err)
				}
				if c.want != (seconds(t, &m) == 30) {
					t.Errorf("the metric is %v s", seconds(t, &m))
				}
				if c.by.err != nil && (!errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "no request to the API server has succeeded for 30s: ")) {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

// TestOneFailureProvesLittle leaves it at one failed request.
func TestOneFailureProvesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		send(t.Context(), &m, network{err: errors.New("reset")})
		time.Sleep(time.Hour)
		if err := m.Unreachable(time.Second); err != nil {
			t.Error(err)
		}
	})
}

// TestUnansweredRequestsCount waits for answers that do not come.
func TestUnansweredRequestsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		send(ctx, &m, network{takes: time.Hour})
		if err := m.Unreachable(15 * time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after 20 s: %v", err)
		}
	})
}

// TestCanceledRequestsDoNotCount cancels requests, as a watch that is stopped does.
func TestCanceledRequestsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, cancel)
			send(ctx, &m, network{takes: time.Hour})
		}
		if err := m.Unreachable(time.Second); err != nil || seconds(t, &m) != 0 {
			t.Errorf("%v, %v s", err, seconds(t, &m))
		}
	})
}

// TestSuccessEndsFailure has a request succeed between failures, and while another one waits.
func TestSuccessEndsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Monitor
		fails := network{takes: 20 * time.Second, err: errors.New("timeout")}
		go send(t.Context(), &m, fails)
		time.Sleep(18 * time.Second)
		send(t.Context(), &m, network{status: http.StatusOK})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if err := m.Unreachable(15 * time.Second); err != nil {
			t.Errorf("2 s after a success: %v", err)
		}
		send(t.Context(), &m, fails)
		if err := m.Unreachable(15 * time.Second); err == nil {
			t.Error("23 s after the last success it is reachable")
		}
		send(t.Context(), &m, network{status: http.StatusOK})
		if err := m.Unreachable(0); err != nil || seconds(t, &m) != 0 {
			t.Errorf("after a success: %v, %v s", err, seconds(t, &m))
		}
	})
}
