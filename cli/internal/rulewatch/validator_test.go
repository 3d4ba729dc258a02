package rulewatch

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/judge"
	"reconcel/rules"
	"reconcel/rules/source"
)

// TestChangesInTurn changes one of several files after the other, some of them to something invalid. Each change has the
// errors that all rules have when nothing is known of them, though only the rules that it concerns are judged. Soon after
// the last one, all are judged.
func TestChangesInTurn(t *testing.T) {
	host := widgets(t)
	newValidator := func() *Validator {
		return &Validator{Config: &rest.Config{Host: host}, Log: slog.New(slog.DiscardHandler),
			Metrics: NewMetrics(prometheus.NewRegistry())}
	}
	running, r := newValidator(), rand.New(rand.NewPCG(37, 37))
	t.Cleanup(running.stopReview)
	verdict := func(v *Validator, l *rules.Loaded) string {
		err := judge.Of(l, nil, judge.Policy{}).Err()
		if err == nil {
			err = v.Check(t.Context(), l)
		}
		return fmt.Sprint(err)
	}
	text := func(i int, name, value, key string) source.File {
		return source.File{Name: fmt.Sprintf("%d.yaml", i), Data: fmt.Appendf(nil, `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: rule-%s
  for: {apiVersion: example.com/v1, kind: Widget}
  status: {own%d: "${self.spec.%s}"}
- name: other-%d
  for: {apiVersion: example.com/v1, kind: Widget}
  status: {%s: "${self.spec.size}"}
`, name, i, value, i, key)}
	}
	names, values := []string{"a", "b", "c", "d", "e", "f", "g"}, []string{"size", "note", "size + 1", "sise", "note + 1"}
	one := func(of []string) string { return of[r.IntN(len(of))] }
	active := rules.Compile([]source.File{text(0, "a", "size", "a"), text(1, "b", "size", "b"), text(2, "c", "size", "c")})
	next := active
	accepted, rejected, whole := 0, 0, 0
	for range 60 {
		got, want := verdict(running, next), verdict(newValidator(), rules.Compile(next.Sources))
		if got != want {
			t.Fatalf("got\n%s\nwant\n%s\nfor %s", got, want, next.Sources)
		}
		if got == "<nil>" {
			accepted++
			if !running.checked.Partial {
				whole++
			}
			running.activated(t.Context())
			active = next
		} else {
			rejected++
		}
		sources := slices.Clone(active.Sources)
		at := r.IntN(len(sources))
		sources[at] = text(at, one(names), one(values), one(names))
		next = active.Recompile(sources)
	}
	if accepted < 10 || rejected < 10 || whole != 1 {
		t.Errorf("%d changes were accepted and %d rejected, and %d times all rules were judged, want that only at first",
			accepted, rejected, whole)
	}
	schemas := running.by
	if !eventually(t, func() bool { return running.outdated(active, schemas) }) {
		t.Error("after the changes, not all rules are judged")
	}
	running.recheck(t.Context(), active)
	if running.outdated(active, schemas) {
		t.Error("they are judged again, though nothing has changed")
	}
}

// widgets is an API server that serves only the schema of a kind, and allows nothing.
func widgets(t *testing.T) string {
	t.Helper()
	const kind = `"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}]`
	const status = `{"type": "object", "x-kubernetes-preserve-unknown-fields": true}`
	answers := map[string]string{
		"/openapi/v3": `{"paths": {"apis/example.com/v1": {"serverRelativeURL": "/openapi/v3/apis/example.com/v1?hash=1"}}}`,
		"/openapi/v3/apis/example.com/v1": `{"paths": {}, "components": {"schemas": {"com.example.v1.Widget": {"type": "object", ` + kind +
			`, "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
			"spec": {"type": "object", "properties": {"size": {"type": "integer"}, "note": {"type": "string"}}}, "status": ` + status + `}}}}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if !known {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
