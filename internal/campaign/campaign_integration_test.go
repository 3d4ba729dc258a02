//go:build integration

// Package campaign lets processes of reconcel live for a long time on a real
// control plane, while everything around them changes or breaks: rules, primaries,
// the network, the processes themselves. What has happened is read off the API
// server's audit log and a watch, and held against what may have happened.
//
// A test run does a sample of each campaign. RECONCEL_SOAK=1 does all of it, and
// RECONCEL_SEED chooses another course than that of the day before.
package campaign

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/internal/devcluster"
)

// soak reports whether there is time.
func soak() bool { return os.Getenv("RECONCEL_SOAK") != "" }

// chance returns the source of what a campaign leaves to chance.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("RECONCEL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("RECONCEL_SEED: %v", err)
		}
	}
	t.Logf("RECONCEL_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "reconcel")
	if out, err := exec.Command("go", "build", "-o", binary, "reconcel").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// crd is a kind of the campaigns, whose spec may hold anything.
func crd(kind string) string {
	return strings.NewReplacer("KIND", kind, "PLURAL", strings.ToLower(kind)+"s").Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.campaign.reconcel.dev}
spec:
  group: campaign.reconcel.dev
  names: {kind: KIND, plural: PLURAL}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [value]
            properties: {value: {type: integer}, replicas: {type: integer}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`)
}

// establish makes kinds, and waits until they are served.
func establish(t *testing.T, cluster *devcluster.Cluster, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		kubectl(t, cluster, "apply", "-f", write(t, filepath.Join(t.TempDir(), kind+".yaml"), crd(kind)))
	}
	kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
}

func kubectl(t *testing.T, cluster *devcluster.Cluster, args ...string) string {
	t.Helper()
	out, err := cluster.Kubectl(args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// eventually waits until a check finds nothing missing.
func eventually(t *testing.T, what string, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s: %v", within, what, err)
		}
		rest(t, 20*time.Millisecond)
	}
}

// rest lets time pass in which others work.
func rest(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// A process is `reconcel run`.
type process struct {
	*exec.Cmd
	name string
	log  string // file
	done chan struct{}
	end  error // once done is closed
}

func start(t *testing.T, binary, name string, args ...string) *process {
	t.Helper()
	p := &process{name: name, log: filepath.Join(t.TempDir(), name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	p.Cmd = exec.Command(binary, append([]string{"run"}, args...)...)
	p.Stderr = log
	p.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "RECONCEL_") }) // These are for the tests.
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.end = p.Wait(); close(p.done) }()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.done
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("end of the log of %s:\n%s", name, text[max(0, len(text)-4<<10):])
		}
	})
	return p
}

// says waits until the log holds a text.
func (p *process) says(t *testing.T, text string, within time.Duration) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s to say %q", p.name, text), within, func() error {
		if p.has(t, text) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it has ended: %w", p.end)
		default:
			return errors.New("it has not yet")
		}
	})
}

func (p *process) has(t *testing.T, text string) bool {
	t.Helper()
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(log), text)
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// ends waits until the process has ended.
func (p *process) ends(t *testing.T, within time.Duration) error {
	t.Helper()
	select {
	case <-p.done:
		return p.end
	case <-time.After(within):
		t.Fatalf("%s did not end within %s", p.name, within)
		return nil
	}
}
