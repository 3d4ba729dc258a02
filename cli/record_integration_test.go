//go:build integration

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
)

// passwordRules copy a password to a Secret, and a value of the Foo to a ConfigMap.
const passwordRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: copy
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  lookups:
  - {id: secret, apiVersion: v1, kind: Secret, name: password}
  children:
  - id: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-copy"}
      data: {web: "${self.spec.deploymentName}"}
  - id: copied
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}-copy"}
      data: {password: "${secret.data.password}"}
`

// TestRecordAndReplay records a cluster while users change it, and replays the recording: with the same
// rules to the same decisions, and with others to the first difference.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"recorder:system:masters"}})
	binary := e2e.Build(t)
	folder := t.TempDir()
	file, other, recordingFile := filepath.Join(folder, "rules.yaml"), filepath.Join(folder, "other.yaml"), filepath.Join(folder, "day.jsonl.gz")
	manifest := filepath.Join(folder, "foos.yaml")
	for path, text := range map[string]string{
		file: passwordRules, other: strings.Replace(passwordRules, `web: "`, `web: "new `, 1), manifest: foosManifest(5),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := func(args ...string) { t.Helper(); e2e.Kubectl(t, cluster, args...) }
	k("create", "secret", "generic", "password", "--from-literal=password="+canary)
	live := startAs(t, binary, cluster, "reconcel", "--listen=off", "-f", file)
	live.Runs()
	var log e2e.Log
	p := exec.Command(binary, "record", "-f", file, recordingFile, "--kubeconfig", cluster.UserKubeconfig(t, "recorder"))
	p.Stderr = &log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	e2e.Poll(t, "the recording to begin", time.Minute, 50*time.Millisecond, func() error {
		if !strings.Contains(log.String(), "msg=recording") {
			return fmt.Errorf("the log is %s", log.String())
		}
		return nil
	})
	k("apply", "-f", manifest)
	k("wait", "--for=create", "configmap/foo-4-copy", "--timeout=60s")
	for i := range 3 {
		k("patch", "foo", "foo-1", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"deploymentName":"web-%d"}}`, 10+i))
	}
	k("delete", "configmap", "foo-2-copy")
	k("wait", "--for=jsonpath={.data.web}=web-12", "configmap/foo-1-copy", "--timeout=60s")
	k("wait", "--for=create", "configmap/foo-2-copy", "--timeout=60s")
	k("delete", "foo", "foo-3")
	k("wait", "--for=delete", "configmap/foo-3-copy", "--timeout=60s")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	if found := writtenBy(t, cluster, "recorder"); len(found) > 0 {
		t.Errorf("record has written: %v", found)
	}

	unpacked, err := exec.Command("gunzip", "-c", recordingFile).Output()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(unpacked, []byte(canary)) || bytes.Contains(unpacked, []byte("Y2FuYXJ5LTdjMWY0ZQ")) {
		t.Error("the recording has the value of a Secret")
	}
	out, err := exec.Command(binary, "replay", recordingFile).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	said := regexp.MustCompile(`^(\d+) events, (\d+) reconciliations, (\d+) writes: the same decisions\n$`).FindStringSubmatch(string(out))
	if said == nil || len(said[1]) < 2 || len(said[3]) < 2 {
		t.Errorf("replay says %s", out)
	}
	out, err = exec.Command(binary, "replay", recordingFile, "-f", other).CombinedOutput()
	if code := exitCode(err); code != 1 || !strings.Contains(string(out), `"web":"new web-`) {
		t.Errorf("with other rules, replay exits with %d: %s", code, out)
	}
}

func exitCode(err error) int {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	return 0
}
