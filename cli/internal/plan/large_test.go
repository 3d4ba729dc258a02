package plan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

const (
	// largeFoos is how many Foos a large dump has, each with a Deployment.
	largeFoos = 10_000
	// mostLargeTime and mostLargeMemory are for a plan in which all of them change. The time
	// is that of two CPUs, without other load.
	mostLargeTime   = time.Minute
	mostLargeMemory = 300 << 20
)

// TestTenThousand plans a change of the rules of 10,000 Foos, from a dump, in a process of its
// own.
func TestTenThousand(t *testing.T) {
	if !soak.Enabled() {
		t.Skip("takes a minute: make soak-plan runs it")
	}
	old := readText(t, examples+"/foo/rules.yaml")
	folder := t.TempDir()
	files := map[string]string{"old.yaml": old, "new.yaml": strings.Replace(old, "image: nginx:latest", "image: nginx:1.29", 1)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeLargeDump(t, filepath.Join(folder, "dump.json"), old)

	crds, err := filepath.Abs(examples + "/../crds")
	if err != nil {
		t.Fatal(err)
	}
	plan := exec.Command(e2e.Build(t), "plan", "-f", "new.yaml", "--against", "old.yaml", "--observed", "dump.json", "--crd", crds)
	plan.Dir, plan.Env = folder, []string{} // RECONCEL_SOAK is no setting.
	began := time.Now()
	out, err := plan.CombinedOutput()
	took := time.Since(began)
	used := plan.ProcessState.SysUsage().(*syscall.Rusage)
	cpu, peak := plan.ProcessState.UserTime()+plan.ProcessState.SystemTime(), used.Maxrss<<10
	t.Logf("%v, %v of CPU, %d MB, %v\n%s", took.Round(time.Second/10), cpu.Round(time.Second/10), peak/1_000_000, err, out)
	if plan.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "Resources: 10000 of 10000 change") {
		t.Error("the plan does not change all Foos")
	}
	if took > mostLargeTime || peak > mostLargeMemory {
		t.Errorf("must take at most %v and %d MB", mostLargeTime, mostLargeMemory/1_000_000)
	}
}

// writeLargeDump writes Foos and their Deployments as kubectl get -o json does. They are
// copies of those that the controller makes in a cluster in memory.
func writeLargeDump(t *testing.T, path, text string) {
	t.Helper()
	const model = "foo-00000"
	program := loadTexts(t, map[string]string{"rules.yaml": text}).Program
	f := newFleet(t, program, "{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: "+model+", namespace: default}, spec: {deploymentName: "+model+", replicas: 1}}")
	primary := program.Primaries()[0]
	foo := f.Cluster().Find(primary.GVK.GroupKind(), "default", model)
	deployment := f.Cluster().Find(primary.Rules[0].Children[0].GVK.GroupKind(), "default", model)
	applied := deployment.GetAnnotations()[rules.AnnotationApplied]
	var rendering rules.Rendering
	primary.Render(rules.Input{Self: foo.Object}, &rendering)
	if hash := rendering.Rules[0].Children[0].Objects[0].HashString(); hash != applied {
		t.Fatalf("the model has the hash %s, expected %s", applied, hash)
	}

	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(file)
	put := func(text string) {
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range largeFoos {
		name := fmt.Sprintf("foo-%05d", i)
		own := strings.NewReplacer(model, name, string(foo.GetUID()), fmt.Sprintf("f00-%d", i), string(deployment.GetUID()), fmt.Sprintf("de9-%d", i))
		self := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(own.Replace(encoded(t, foo))), self); err != nil {
			t.Fatal(err)
		}
		primary.Render(rules.Input{Self: self.Object}, &rendering)
		hash := rendering.Rules[0].Children[0].Objects[0].HashString()
		if i > 0 {
			put(",")
		}
		put(own.Replace(encoded(t, foo)) + "," + strings.Replace(own.Replace(encoded(t, deployment)), applied, hash, 1))
	}
	put("]}")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func encoded(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
