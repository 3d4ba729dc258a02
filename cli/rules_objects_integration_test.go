//go:build integration

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reconcel/deploy"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestRulesObjectsOnCluster applies rules as objects, makes a mistake in them, restarts reconcel with it, and deletes the
// CustomResourceDefinition of the objects, and then an object.
func TestRulesObjectsOnCluster(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	binary := e2e.Build(t)
	valid, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition, err := deploy.RulesDefinition().YAML()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	apply := func(text string) {
		t.Helper()
		file := filepath.Join(folder, "applied.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e2e.Kubectl(t, cluster, "apply", "--server-side", "--force-conflicts", "-f", file)
	}
	object := strings.Replace(string(valid), "kind: Rules\n", "kind: Rules\nmetadata: {name: web, namespace: default}\n", 1)
	start := func() *e2e.Process {
		t.Helper()
		p := startAs(t, binary, cluster, "reconcel", "--leader-elect=false", "--listen=off", "-n=default", "--rules-objects")
		p.Runs()
		return p
	}
	reason := func(want string) {
		t.Helper()
		e2e.Kubectl(t, cluster, "wait", "rules/web", "--timeout=60s", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=`+want)
	}
	p := start() // Before there is the kind.
	p.Logs("rules unknown, will retry", time.Minute)
	apply(string(definition))
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd/rules.reconcel.dev", "--timeout=60s")
	apply(object)
	apply(foosManifest(2))
	reason("Active")
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Ready", "foo", "--all", "--timeout=60s")
	e2e.Kubectl(t, cluster, "wait", "rules/web", "--for=jsonpath={.status.ready}=2", "--timeout=60s")

	apply(strings.Replace(object, "children:", "childern:", 1))
	reason("Invalid")
	p.Kill()
	p = start()
	reason("Invalid")
	e2e.Kubectl(t, cluster, "delete", "deployment", "web-0")
	e2e.Kubectl(t, cluster, "wait", "--for=create", "deployment", "web-0", "--timeout=30s")
	e2e.Rest(t, 5*time.Second) // The status tells at most every two seconds that web-0 is ready again.
	since := time.Now()
	e2e.Rest(t, 5*time.Second)
	for what := range writes(t, cluster, since) {
		if strings.Contains(what, "rules") {
			t.Errorf("at rest, this is written: %s", what)
		}
	}
	apply(object)
	reason("Active")

	// The kind is deleted while reconcel runs, and before it starts. It is missing for longer than a watch usually fails.
	for _, when := range []string{"running", "stopped"} {
		if when == "stopped" {
			p.Kill()
		}
		e2e.Kubectl(t, cluster, "delete", "crd", "rules.reconcel.dev")
		if when == "stopped" {
			p = start()
		}
		p.Logs("Rules object deleted, its rules stay active", time.Minute)
		e2e.Kubectl(t, cluster, "delete", "deployment", "web-1")
		e2e.Kubectl(t, cluster, "wait", "--for=create", "deployment", "web-1", "--timeout=30s")
		e2e.Rest(t, 10*time.Second)
		apply(string(definition))
		e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd/rules.reconcel.dev", "--timeout=60s")
		apply(object)
		began := time.Now()
		reason("Active")
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: an object that was created again is active after %s", when, took)
		}
		if p.Logged(`msg="Rules object removed"`) {
			t.Errorf("%s: an object that was deleted with its kind counts as removed", when)
		}
	}
	// The kind is replaced at once.
	file := filepath.Join(folder, "definition.yaml")
	if err := os.WriteFile(file, definition, 0o600); err != nil {
		t.Fatal(err)
	}
	e2e.Kubectl(t, cluster, "replace", "--force", "-f", file)
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd/rules.reconcel.dev", "--timeout=60s")
	e2e.Rest(t, 5*time.Second)
	if p.Logged(`msg="Rules object removed"`) {
		t.Error("an object that was deleted with its kind, which was replaced, counts as removed")
	}
	apply(object)
	reason("Active")
	e2e.Kubectl(t, cluster, "delete", "rules", "web")
	p.Logs("Rules object removed", time.Minute)
	e2e.Kubectl(t, cluster, "get", "deployment", "web-0", "web-1")
	p.Kill()
}
