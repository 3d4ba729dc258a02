package engine

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/queue"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
	"reconcel/rules"
)

var deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// cacheWith returns a pass with one cache of Deployments, which has observed one
// Deployment in these versions.
func cacheWith(t *testing.T, versions ...string) (*reconcile.Pass, *watch.Feed) {
	t.Helper()
	w := watch.New(watch.Key{GVK: deployment, Role: watch.Child}, rules.VisibleToRules())
	f := show(t, w, ident.Kind{GVK: deployment, Namespaced: true})
	for _, v := range versions {
		observe(t, f, nil, deploymentAt(t, v))
	}
	return passFor(access.Subject{Memory: &access.Memory{}, Primary: &plan.PrimaryKind{Children: map[schema.GroupVersionKind]*watch.Watch{deployment: w}}}), f
}

func deploymentAt(t *testing.T, version string) *unstructured.Unstructured {
	return decode(t, []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u","resourceVersion":"`+version+`"}}`))
}

func TestOwnWritesAreReadBack(t *testing.T) {
	id := rules.Identity{GVK: deployment, Namespace: "default", Name: "web"}
	written := func(p *reconcile.Pass, version string) {
		w := p.Memory.Child(id)
		w.Version, w.Object = version, watch.NewObject(deploymentAt(t, version), watch.Child)
	}
	version := func(p *reconcile.Pass) string {
		if o := p.View.Live(id); o != nil {
			return o.GetResourceVersion()
		}
		return "none"
	}
	t.Run("a created object that the cache does not show yet", func(t *testing.T) {
		p, _ := cacheWith(t)
		written(p, "7")
		if got := version(p); got != "7" {
			t.Errorf("live is %s", got)
		}
	})
	t.Run("an update that the cache does not show yet", func(t *testing.T) {
		p, _ := cacheWith(t, "5")
		written(p, "7")
		if got := version(p); got != "7" {
			t.Errorf("live is %s", got)
		}
	})
	t.Run("a cache that has caught up", func(t *testing.T) {
		p, f := cacheWith(t, "5")
		written(p, "7")
		observe(t, f, deploymentAt(t, "5"), deploymentAt(t, "9"))
		if got := version(p); got != "9" {
			t.Errorf("live is %s", got)
		}
	})
	t.Run("an object that was deleted after our write", func(t *testing.T) {
		p, f := cacheWith(t, "5")
		written(p, "7")
		observe(t, f, deploymentAt(t, "8"), nil)
		if got := version(p); got != "none" {
			t.Errorf("live is %s", got)
		}
	})
	t.Run("versions are numbers and not text", func(t *testing.T) {
		p, _ := cacheWith(t, "9")
		written(p, "10")
		if got := version(p); got != "10" {
			t.Errorf("live is %s", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	gr := schema.GroupResource{Resource: "configmaps"}
	internal := func(message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: message}}
	}
	for _, c := range []struct {
		name   string
		err    error
		reason string // of a terminal error, "" for a transient one
	}{
		{"forbidden", apierrors.NewForbidden(gr, "a", errors.New("no")), outcome.ReasonForbidden},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{}, "a", nil), outcome.ReasonRejected},
		{"bad request", apierrors.NewBadRequest("no"), outcome.ReasonRejected},
		{"too large", apierrors.NewRequestEntityTooLargeError("no"), outcome.ReasonRejected},
		{"an apply that does not fit the schema", internal("failed to create typed patch object (default/a; /v1, Kind=ConfigMap): .none: field not declared in schema"), outcome.ReasonRejected},
		{"an API server whose etcd is away", internal("etcdserver: request timed out"), ""},
		{"an API server whose etcd has ended", internal("rpc error: code = Unavailable desc = error reading from server: EOF"), ""},
		{"an internal error", apierrors.NewInternalError(errors.New("no")), ""},
		{"a conflict", apierrors.NewConflict(gr, "a", errors.New("no")), ""},
		{"too many requests", apierrors.NewTooManyRequests("no", 1), ""},
		{"a timeout", apierrors.NewTimeoutError("no", 1), ""},
		{"a cut connection", errors.New("EOF"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if terminal, ok := errors.AsType[*outcome.TerminalError](outcome.ClassifyAnswer(c.err)); ok {
				got = terminal.Reason
			}
			if got != c.reason {
				t.Errorf("reason %q, want %q", got, c.reason)
			}
		})
	}
}

func TestErrorsAboutSecretsQuoteNothing(t *testing.T) {
	causes := field.ErrorList{field.Invalid(field.NewPath("data"), "hunter2", "must not be hunter2")}
	refusal := apierrors.NewInvalid(outcome.Secrets, "a", causes)
	err := outcome.WithholdSecret(outcome.Secrets, refusal)
	var terminal *outcome.TerminalError
	if !errors.As(outcome.ClassifyAnswer(err), &terminal) || !strings.Contains(err.Error(), "data") || strings.Contains(fmt.Sprintf("%v %+v", err, err), "hunter2") {
		t.Errorf("error is %v", err)
	}
	if other := outcome.WithholdSecret(schema.GroupKind{Kind: "ConfigMap"}, refusal); !strings.Contains(other.Error(), "hunter2") {
		t.Errorf("an error about something else is %v", other)
	}
}

func TestMissingPermissionForASecretIsNamed(t *testing.T) {
	denial := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a",
		errors.New(`User "me" cannot patch resource "secrets" in API group "" in the namespace "shop": hunter2`))
	err := outcome.ClassifyAnswer(outcome.WithholdSecret(outcome.Secrets, denial))
	if want := "me may not patch secrets in namespace shop"; !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestRetriesSoonAfterAnOutage has a request that always fails. However long that lasts,
// the next retry follows within half a minute, and the first minute has few of them.
func TestRetriesSoonAfterAnOutage(t *testing.T) {
	for _, random := range []float64{0, 0.5, 0.999} {
		limiter := queue.NewLimiter(func() float64 { return random })
		var at, longest time.Duration
		attempts := 1
		for range 50 {
			wait := limiter.When(ident.Request{Name: "a"})
			at, longest = at+wait, max(longest, wait)
			if at < time.Minute {
				attempts++
			}
		}
		if longest > 30*time.Second || attempts > 15 {
			t.Errorf("with jitter %v, a retry comes after up to %s, and there are %d attempts in the first minute", random, longest, attempts)
		}
		if first := limiter.When(ident.Request{Name: "b"}); first > 2*outcome.FirstRetry {
			t.Errorf("the first retry of another request comes after %s", first)
		}
	}
}

func TestPanicIsAnErrorOfOneRequest(t *testing.T) {
	e, req := converged(t)
	broken := ident.Request{Kind: schema.GroupKind{Kind: "Broken"}, Name: "x"}
	e.Plan.Load().Primaries[broken.Kind] = &plan.PrimaryKind{} // Without a watch.
	if _, err := e.Workers.Serve(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "internal error") {
		t.Errorf("error is %v", err)
	}
	if _, err := e.Workers.Serve(t.Context(), req); err != nil {
		t.Errorf("the next request fails: %v", err)
	}
}
