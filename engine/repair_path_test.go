package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"reconcel/engine/watch"
)

// mostFiles limits the files of the engine that a reader opens to follow the repair of a
// drifted child, from the queue to the PATCH.
const mostFiles = 15

// beside are files that are not on the way to the PATCH: two send it, and one asks for the next
// reconciliation after it.
var beside = []string{"watch/sender.go", "lost_version.go", "delaying_queue.go"}

// TestRepairTouchesFewFiles counts the files with statements that run more often with the
// repair than without it.
func TestRepairTouchesFewFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the engine and its dependencies again, to count statements")
	}
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "engine.test")
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	run("go", "test", "-c", "-covermode", "atomic", "-coverpkg", "./...", "-o", binary, ".")
	counts := func(test string) map[string]string {
		profile := filepath.Join(t.TempDir(), "profile")
		run(binary, "-test.run", "^TestRepairUpToTheWrite$/^"+test+"$", "-test.coverprofile", profile)
		text, err := os.ReadFile(profile)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for line := range strings.Lines(string(text)) {
			if at := strings.LastIndex(line, " "); at > 0 {
				found[line[:at]] = line[at:]
			}
		}
		return found
	}
	without, with := counts("converged"), counts("drifted")
	var files []string
	for block, count := range with {
		file, _, _ := strings.Cut(strings.TrimPrefix(block, "reconcel/engine/"), ":")
		if count != without[block] && !strings.HasSuffix(block, " 0") && !slices.Contains(beside, file) && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	if len(files) < 5 || len(files) > mostFiles {
		t.Errorf("the repair touches %d files, at most %d are allowed:\n%s", len(files), mostFiles, strings.Join(files, "\n"))
	}
}

// TestRepairUpToTheWrite serves the queued request of a changed child's event, up to the
// PATCH that repairs the child.
func TestRepairUpToTheWrite(t *testing.T) {
	for _, drifted := range []bool{false, true} {
		name := "converged"
		if drifted {
			name = "drifted"
		}
		t.Run(name, func(t *testing.T) {
			e, req := converged(t)
			if _, err := e.reconcile(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			children := e.plan.Load().primaries[req.Kind].children[deployment]
			cache, err := children.Cache()
			if err != nil {
				t.Fatal(err)
			}
			child, _ := cache.Get("default", "web")
			before := stored(child)
			_, applied := appliedDeployment(t, e.program, decode(t, []byte(convergedFoo)))
			changed := owning(t, stored(child), watch.Child, strings.Replace(applied, `"f:replicas":{},`, "", 1))
			changed.SetResourceVersion("12")
			feed := show(t, children, cache.Kind(), before)
			client := fake.NewSimpleDynamicClient(kruntime.NewScheme())
			client.PrependReactor("get", "*", func(clienttesting.Action) (bool, kruntime.Object, error) { return true, changed.DeepCopy(), nil })
			patched := false
			client.PrependReactor("patch", "*", func(clienttesting.Action) (bool, kruntime.Object, error) {
				patched = true
				runtime.Goexit()
				return true, nil, nil
			})
			e.client, e.sender = client, Dependencies{Client: client}.sender()
			observe(t, feed, before, changed)
			if !drifted {
				return
			}
			var worker sync.WaitGroup
			worker.Go(func() { e.serveNext(t.Context()) })
			worker.Wait()
			if !patched {
				t.Error("nothing was repaired")
			}
		})
	}
}
