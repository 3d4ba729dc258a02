//go:build integration

package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// debugAnswer is the part of a /debug/rules response that the test reads.
type debugAnswer struct {
	State string
	Files struct {
		Hash     string
		Rejected *struct{ Errors []string }
	}
	Rules []struct {
		Name, Position, For string
		Primaries           map[string]int
		Children            int
	}
	Watches []struct {
		Kind, Role, Error string
		Synced            bool
		Objects           int
	}
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// awaitDebug polls until the response is as expected.
func awaitDebug(t *testing.T, address, what string, right func(debugAnswer) bool) debugAnswer {
	t.Helper()
	deadline, last := time.After(30*time.Second), "no answer"
	for {
		if r, err := http.Get("http://" + address + "/debug/rules"); err == nil {
			body, _ := io.ReadAll(r.Body)
			_ = r.Body.Close()
			var answer debugAnswer
			last = string(body)
			if json.Unmarshal(body, &answer) == nil && right(answer) {
				if strings.Contains(last, canary) {
					t.Errorf("a Secret's value is shown: %s", last)
				}
				return answer
			}
		}
		select {
		case <-deadline:
			t.Fatalf("%s was not shown within 30 s; the last answer was %s", what, last)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

const canary = "canary-7c1f4e"

// secretRules create a Secret that the API server accepts, and one that it rejects with a
// message that quotes the value.
const secretRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: secretive
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: good
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}-good"}
      stringData: {password: "canary-7c1f4e"}
  - id: bad
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}-bad"}
      type: kubernetes.io/dockerconfigjson
      stringData: {".dockerconfigjson": "${'canary-7c1f4e' + self.metadata.name}"}
`

// TestDebugOfProcess reads the active rules of a process before and after an invalid
// edit. It searches all output for a Secret's value.
func TestDebugOfProcess(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	manifest := filepath.Join(t.TempDir(), "foos.yaml")
	file := filepath.Join(t.TempDir(), "rules.yaml")
	for path, text := range map[string]string{manifest: foosManifest(3), file: secretRules} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e2e.Kubectl(t, cluster, "apply", "-f", manifest)
	debug, listen := freeAddress(t), freeAddress(t)
	var log bytes.Buffer
	p := exec.Command(e2e.Build(t), "run", "-f", file, "--kubeconfig", cluster.UserKubeconfig(t, "reconcel"),
		"--listen", listen, "--debug-listen", debug, "--log-level", "debug")
	p.Stderr = &log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })

	first := awaitDebug(t, debug, "a stalled rule", func(a debugAnswer) bool {
		return a.State == "leader" && len(a.Rules) == 1 && a.Rules[0].Primaries["stalled"] == 3 && len(a.Watches) == 2
	})
	if r := first.Rules[0]; r.Name != "secretive" || r.Position != file+":4:3" || r.For != "samplecontroller.k8s.io/v1alpha1/Foo" || r.Children != 6 {
		t.Errorf("rule: %+v", r)
	}
	for _, w := range first.Watches {
		if !w.Synced || w.Role == "primary" && w.Objects != 3 {
			t.Errorf("watch: %+v", w)
		}
	}
	if err := os.WriteFile(file, []byte(secretRules+"  wrong: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	after := awaitDebug(t, debug, "the report", func(a debugAnswer) bool { return a.Files.Rejected != nil })
	if report := after.Files.Rejected.Errors; len(report) != 1 || !strings.Contains(report[0], `"wrong"`) || after.Files.Hash != first.Files.Hash {
		t.Errorf("files: %+v", after.Files)
	}
	metrics, err := http.Get("http://" + listen + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(metrics.Body)
	_ = metrics.Body.Close()
	if !strings.Contains(string(text), `reconcel_rule_primaries{rule="secretive",state="stalled"} 3`) {
		t.Errorf("metrics: %s", text)
	}
	checkMetrics(t, text)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %s", err, &log)
	}
	said := string(text) + log.String() + e2e.Kubectl(t, cluster, "get", "foos,events", "-A", "-o", "yaml")
	if strings.Contains(said, canary) {
		t.Error("a Secret's value is in metrics, log, status or Events")
		t.Log(log.String())
	}
	if !strings.Contains(log.String(), "stalled") {
		t.Errorf("nothing was refused: %s", &log)
	}
}
