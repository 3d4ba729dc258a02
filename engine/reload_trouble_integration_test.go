//go:build integration

package engine_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/test/e2e"
)

func forbidden(path string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != path {
				return next.RoundTrip(r)
			}
			body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`
			return &http.Response{
				StatusCode: http.StatusForbidden, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
			}, nil
		})
	}
}

// TestReloadWithAForbiddenKind adds a rule whose kind the engine may not list. Other
// rules do not wait for it.
func TestReloadWithAForbiddenKind(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	w.wrap = forbidden("/api/v1/secrets")
	rule := widgetRules("", strings.Replace(configMapChild("a", "${self.metadata.name}-a"), "data: {value", "data: {version: OLD, value", 1))
	in := w.run(rule)
	w.Create(widget("one", "value: x"))
	w.Has(configs, "one-a", map[string]any{"data.version": "OLD"})
	secret := "  - id: s\n    template: {apiVersion: v1, kind: Secret, metadata: {name: never}}\n"
	started := time.Now()
	w.reload(in, strings.Replace(rule, "OLD", "NEW", 1)+strings.TrimPrefix(strings.Replace(widgetRules("", secret), "name: widget", "name: second", 1), rulesFile))
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	w.Has(configs, "one-a", map[string]any{"data.version": "NEW"})
	w.Is(widgets, "one", "Ready", "False")
}

// TestReloadToAnotherVersion makes a rule read its primaries in another version.
func TestReloadToAnotherVersion(t *testing.T) {
	w := newWorld(t)
	const kind = "Versioned"
	one := kindLike(kind)
	_, version, _ := strings.Cut(one, "  versions:\n")
	w.CRD(one + strings.NewReplacer("name: v1", "name: v2", "storage: true", "storage: false").Replace(version))
	rule := strings.Replace(widgetRules("", configMapChild("a", "${self.metadata.name}-a")), "Widget", kind, 1)
	in := w.run(rule)
	w.Create(strings.Replace(widget("one", "value: x"), "Widget", kind, 1))
	versioned := e2e.GVK("test.reconcel.dev/v1", kind)
	w.Is(versioned, "one", "Ready", "True")
	uid := w.Get(configs, "one-a").GetUID()
	w.reload(in, strings.Replace(rule, "reconcel.dev/v1\n", "reconcel.dev/v2\n", 1))
	w.Eventually("the child to name the new version", func() error {
		if refs := w.Get(configs, "one-a").GetOwnerReferences(); len(refs) != 1 || !strings.HasSuffix(refs[0].APIVersion, "/v2") {
			return errors.New("it does not yet")
		}
		return nil
	})
	w.Is(versioned, "one", "Ready", "True") // As before: the status may still be written.
	w.settles()
	w.Quiet(2 * time.Second)
	if now := w.Get(configs, "one-a").GetUID(); now != uid {
		t.Error("the child was created again")
	}
}

// TestReloadWhileAPrimaryEnds removes a rule while its finalizer is on a primary in
// deletion.
func TestReloadWhileAPrimaryEnds(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.CRD(gizmoCRD)
	rule := widgetRules("", configMapChild("a", "${self.metadata.name}-a")) + finalizeJob("300s", "true")
	in := w.run(rule)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	w.Delete(widgets, "one")
	w.Has(e2e.GVK("batch/v1", "Job"), "one-backup", nil)
	w.reload(in, strings.NewReplacer("name: widget", "name: gizmo", "Widget", "Gizmo").Replace(widgetRules("", configMapChild("a", "${self.metadata.name}-a"))))
	w.Lacks(widgets, "one")
	w.reload(in, rule)
	w.Create(widget("two", "value: x"))
	w.Is(widgets, "two", "Ready", "True")
}

// TestReloadWhileAKindGoes replaces rules while the CRD of a kind is deleted and created
// again.
func TestReloadWhileAKindGoes(t *testing.T) {
	w := newWorld(t)
	const kind = "Passing"
	rule := strings.Replace(widgetRules("", strings.Replace(configMapChild("a", "${self.metadata.name}-a"), "data: {value", "data: {version: OLD, value", 1)), "Widget", kind, 1)
	w.CRD(kindLike(kind))
	in := w.run(rule)
	w.Create(strings.Replace(widget("one", "value: x"), "Widget", kind, 1))
	w.Has(configs, "one-a", map[string]any{"data.version": "OLD"})
	crds, name := w.Client.Resource(crdResource), "passings.test.reconcel.dev"
	if err := crds.Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"B", "C", "D"} {
		w.reload(in, strings.Replace(rule, "OLD", version, 1))
	}
	w.Eventually("the CRD to be gone", func() error {
		_, err := crds.Get(w.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.New("it is there")
	})
	w.CRD(kindLike(kind))
	w.Create(strings.Replace(widget("two", "value: x"), "Widget", kind, 1))
	w.Has(configs, "two-a", map[string]any{"data.version": "D"})
}

func TestReloadAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	rule := w.Fill(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	in := w.run(rule)
	in.stop()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(rule)}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := in.Reload(ctx, program); err == nil || ctx.Err() != nil {
		t.Errorf("a reload after the end says %v", err)
	}
}
