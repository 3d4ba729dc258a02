//go:build integration

package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestLastValidRules restarts reconcel with rules that have become invalid: it works with the last valid ones,
// and says so, until the files are valid again.
func TestLastValidRules(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"operator:system:masters"}})
	binary := e2e.Build(t)
	o := &operator{&reviewer{T: t, binary: binary, kubeconfig: cluster.UserKubeconfig(t, "operator")}}
	valid, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := freeAddress(t)
	start := func(args ...string) *e2e.Process {
		t.Helper()
		return startAs(t, binary, cluster, "reconcel", append([]string{"--leader-elect=false", "--listen=" + address, "-n=default", "-f", file}, args...)...)
	}
	manifest := filepath.Join(t.TempDir(), "foos.yaml")
	if err := os.WriteFile(manifest, []byte(foosManifest(1)), 0o600); err != nil {
		t.Fatal(err)
	}
	write(string(valid))
	e2e.Kubectl(t, cluster, "apply", "-f", manifest)
	p := start()
	p.Runs()
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Ready", "foo", "--all", "--timeout=60s")
	o.becomes(0, []string{"1 ready of 1 resource"})
	p.Kill()

	const wrong = `rules.yaml:\d+:\d+: .*replcas`
	write(strings.Replace(string(valid), "self.spec.replicas", "self.spec.replcas", 1))
	invalidForCluster := start()
	invalidForCluster.Runs()
	invalidForCluster.Logs("rules invalid, starting with the last valid rules", 10*time.Second)
	o.becomes(1, []string{wrong, "1 ready of 1 resource"})
	invalidForCluster.Kill()

	write(strings.Replace(string(valid), "children:", "childern:", 1))
	e2e.Kubectl(t, cluster, "delete", "deployment", "web-0")
	p = start("--log-format=json")
	p.Logs(`"msg":"rules not reloaded, the last valid rules stay active"`, time.Minute)
	e2e.Kubectl(t, cluster, "wait", "--for=create", "deployment", "web-0", "--timeout=30s")
	wantJSON(t, p.Log())
	o.becomes(1, []string{`^default/reconcel, for .*: rules files rejected, .*rules.yaml:\d+:\d+: .*childern`, "1 ready of 1 resource"})
	if text := fetched(t, "http://"+address+"/readyz"); !strings.HasPrefix(text, "ok\n") || !strings.Contains(text, "childern") {
		t.Errorf("readyz: %q", text)
	}
	if text := fetched(t, "http://"+address+"/metrics"); !strings.Contains(text, "reconcel_rules_last_reload_successful 0") {
		t.Error("the metric says that the files are active")
	}
	p.Kill()

	since := time.Now()
	p = start()
	p.Logs("rules not reloaded, the last valid rules stay active", time.Minute)
	e2e.Rest(t, 3*time.Second)
	for what := range writes(t, cluster, since) {
		if !strings.Contains(what, "events") {
			t.Errorf("the next process with the same files writes: %s", what)
		}
	}
	write(string(valid))
	p.Logs("rules match the active ones again", 30*time.Second)
	v := o.becomes(0, []string{"1 ready of 1 resource"})
	if strings.Contains(v.stdout, "rejected") {
		t.Errorf("the status of valid rules:\n%s", v.stdout)
	}
	p.Kill()

	e2e.Kubectl(t, cluster, "patch", "crd", "foos.samplecontroller.k8s.io", "--type=json", "-p",
		`[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas"}]`)
	p = start()
	p.Runs()
	p.Logs("rules stay active although invalid for the cluster", time.Minute)
	o.becomes(1, []string{`^default/reconcel, for .*: active rules are not valid for the schemas of the cluster: .*rules.yaml:\d+:\d+: .*replicas`})
	p.Kill()
}

// TestNewCheck restarts reconcel with rules that were valid until a check was added: they stay active, and a change of
// them is rejected as long as the check finds something.
func TestNewCheck(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"operator:system:masters"}})
	binary := e2e.Build(t)
	o := &operator{&reviewer{T: t, binary: binary, kubeconfig: cluster.UserKubeconfig(t, "operator")}}
	const rules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - {id: cache, when: self.spec.replicas > 1, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-cache"}}}
  - {id: reader, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-reader"}, data: {cache: "${cache.metadata.name}"}}}
`
	dir := t.TempDir()
	file, manifest := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "foos.yaml")
	for name, text := range map[string]string{file: rules, manifest: foosManifest(1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func(args ...string) *e2e.Process {
		t.Helper()
		return startAs(t, binary, cluster, "reconcel", append([]string{"--leader-elect=false", "--listen=off", "-n=default", "-f", file}, args...)...)
	}
	e2e.Kubectl(t, cluster, "apply", "-f", manifest)
	before := start("--ignore-check=excluded-reader")
	before.Runs()
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Ready", "foo", "--all", "--timeout=60s")
	o.becomes(0, []string{"1 ready of 1 resource"})
	before.Kill()

	p := start()
	p.Logs("rules stay active although invalid for the cluster", time.Minute)
	e2e.Kubectl(t, cluster, "patch", "foo", "foo-0", "--type=merge", "-p", `{"spec":{"replicas":2}}`)
	e2e.Kubectl(t, cluster, "wait", "--for=create", "configmap", "foo-0-cache", "foo-0-reader", "--timeout=30s")
	o.becomes(1, []string{`rules.yaml:8:\d+: .*cache has a when`, "1 ready of 1 resource"})

	if err := os.WriteFile(file, []byte(strings.Replace(rules, "{cache:", "{changed: yes, cache:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Logs("rules not reloaded, the last valid rules stay active", time.Minute)
	o.becomes(1, []string{`rules files rejected, .*rules.yaml:8:\d+: .*cache has a when`})
	if err := os.WriteFile(file, []byte(strings.Replace(rules, "cache.metadata.name", "cache.?metadata.?name", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Logs("rules reloaded", time.Minute)
	o.becomes(0, []string{"1 ready of 1 resource"})
	p.Kill()
}

// TestNoLastValidRules starts an installation whose rules were never valid: it ends, and what it says is in the
// format of the log.
func TestNoLastValidRules(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	file := filepath.Join(t.TempDir(), "rules.yaml")
	for name, rule := range map[string]string{
		"in the language": "- {name: foo, for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}, childern: []}\n",
		"for the cluster": "- {name: foo, for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}, status: {availableReplicas: '${self.spec.replcas}'}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+rule), 0o600); err != nil {
				t.Fatal(err)
			}
			p := startAs(t, e2e.Build(t), cluster, "reconcel", "--leader-elect=false", "--listen=off", "-n=default", "--name=never", "--log-format=json", "-f", file)
			if err := p.Ends(30 * time.Second); err == nil || !strings.Contains(err.Error(), "exit status 1") {
				t.Errorf("it ends with %v", err)
			}
			wantJSON(t, p.Log())
			if !strings.Contains(p.Log(), `"level":"ERROR","msg":"rules invalid","error":"`) || !strings.Contains(p.Log(), "rules.yaml:4:") {
				t.Errorf("the log is\n%s", p.Log())
			}
		})
	}
}

// wantJSON expects each line of a log to be JSON.
func wantJSON(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func fetched(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
