package rulewatch

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/judge"
	"reconcel/deploy"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/test/e2e"
)

const deploymentRule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: v1, kind: ConfigMap}
  children:
  - id: deployment
    template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${self.metadata.name}"}}
`

const accountRule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- {name: bar, for: {apiVersion: v1, kind: ConfigMap}, serviceAccountName: far/deployer, patch: {metadata: {labels: {a: b}}}}
`

// missing returns what is logged about the permissions for rules in some
// namespaces, or in all, by a server that allows everything but to create and
// delete Deployments, which it allows in the namespace a, and to impersonate.
func missing(t *testing.T, text string, namespaces ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = a.Verb != "impersonate" && (a.Resource != "deployments" || a.Namespace == "a" || a.Verb != "create" && a.Verb != "delete")
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	needs, _ := deploy.Needs(program, kindschema.Builtin(), deploy.Usual)
	log := &e2e.Log{}
	f := &Validator{
		Config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		Log:    slog.New(slog.NewTextHandler(log, nil)), Policy: judge.Policy{Namespaces: namespaces},
	}
	f.logMissing(t.Context(), needs.Accesses())
	return log.String()
}

func TestMissingPermissionsAreReported(t *testing.T) {
	for text, more := range map[string]string{missing(t, deploymentRule): "verbs", missing(t, deploymentRule, "a", "b"): "namespace=b"} {
		for _, want := range []string{"permission missing", "resource=deployments.apps", `verbs="create, delete"`, `child \"deployment\" of rule \"foo\"`, more} {
			if !strings.Contains(text, want) {
				t.Errorf("the log does not have %q:\n%s", want, text)
			}
		}
		if n := strings.Count(text, "\n"); n != 1 {
			t.Errorf("%d lines, want 1:\n%s", n, text)
		}
	}
}

// TestMissingPermissionsAreForgottenWhenGranted expects what /readyz tells of missing permissions to end with them.
func TestMissingPermissionsAreForgottenWhenGranted(t *testing.T) {
	var granted atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = granted.Load() || a.Namespace != "b" || a.Verb != "create"
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	v := &Validator{Log: slog.New(slog.DiscardHandler), Policy: judge.Policy{Namespaces: []string{"a", "b"}},
		Config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}}
	if got := v.Missing(); got != nil {
		t.Errorf("before a review: %q", got)
	}
	missing := v.logMissing(t.Context(), []deploy.Access{{Target: deploy.Target{Resource: "pods"}, Verbs: []string{"list", "create"},
		Why: []string{"for a child"}}})
	const want = "permission missing, apply what reconcel rbac prints: create pods in namespace b (for a child)"
	if got := v.Missing(); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	granted.Store(true)
	if still, err := v.lacking(t.Context(), missing); len(still) != 0 || err != nil || v.Missing() != nil {
		t.Errorf("after it is granted: %v, %v, %q", still, err, v.Missing())
	}
}

// TestMissingImpersonationIsReported has an account in a namespace that is not followed.
func TestMissingImpersonationIsReported(t *testing.T) {
	for _, text := range []string{missing(t, accountRule), missing(t, accountRule, "a", "b")} {
		if n := strings.Count(text, "namespace=far resource=\"serviceaccounts deployer\" verbs=impersonate"); n != 1 || strings.Count(text, "\n") != 1 {
			t.Errorf("it is said %d times:\n%s", n, text)
		}
	}
}
