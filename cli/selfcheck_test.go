package cli

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"reconcel/deploy"
	kindschema "reconcel/rules/schema"
	"reconcel/rules/syntax"
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

// missing returns what is logged about permissions in some namespaces, or in all,
// by a server that allows everything but to create and delete Deployments. The
// latter it allows in the namespace a.
func missing(t *testing.T, namespaces ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = a.Resource != "deployments" || a.Namespace == "a" || a.Verb != "create" && a.Verb != "delete"
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	l, err := compiled([]syntax.Source{{Name: "rules.yaml", Data: []byte(deploymentRule)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	needs, _ := deploy.Needs(l.program, kindschema.Builtin(), deploy.Usual)
	log := &logged{}
	f := &fitter{
		config: &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		log:    slog.New(slog.NewTextHandler(log, nil)), namespaces: namespaces,
	}
	f.warnOfMissing(t.Context(), needs.Accesses())
	return log.text.String()
}

func TestMissingPermissionsAreSaid(t *testing.T) {
	for text, more := range map[string]string{missing(t): "verbs", missing(t, "a", "b"): "namespace=b"} {
		for _, want := range []string{"a permission is missing", "resource=deployments.apps", `verbs="create, delete"`, `child \"deployment\" of rule \"foo\"`, more} {
			if !strings.Contains(text, want) {
				t.Errorf("the log does not have %q:\n%s", want, text)
			}
		}
		if n := strings.Count(text, "\n"); n != 1 {
			t.Errorf("%d lines, want 1:\n%s", n, text)
		}
	}
}
