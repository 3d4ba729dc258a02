//go:build integration

package devcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestServerHasTheSelectedVersion shows that tests on a minor do not run on another one.
func TestServerHasTheSelectedVersion(t *testing.T) {
	c := Shared(t)
	if c.Borrowed() || os.Getenv("KUBEBUILDER_ASSETS") != "" {
		t.Skip("the version of foreign binaries is not selected")
	}
	minors, of := versions(t)
	minor, newest := os.Getenv("DEVCLUSTER_KUBERNETES"), minors[len(minors)-1]
	if minor == "" {
		minor = newest
	}
	if got := c.Version(t); got != of[minor] {
		t.Errorf("the server has version %s, want %s", got, of[minor])
	}
	if got := c.IsNewest(t); got != (minor == newest) {
		t.Errorf("it is the newest minor: %v; selected is %s, and the newest one is %s", got, minor, newest)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	if os.Getenv("DEVCLUSTER_KUBECONFIG") != "" {
		t.Skip("a borrowed cluster is not ours to end")
	}
	ends := map[string]func(*Cluster) error{
		"when stdin closes":                 func(c *Cluster) error { return c.stdin.Close() },
		"after SIGINT":                      func(c *Cluster) error { return c.process.Process.Signal(os.Interrupt) },
		"after SIGTERM":                     func(c *Cluster) error { return c.process.Process.Signal(syscall.SIGTERM) },
		"after SIGKILL":                     func(c *Cluster) error { return c.process.Process.Kill() },
		"after SIGKILL, a component paused": func(c *Cluster) error { return errors.Join(c.Pause(Etcd), c.process.Process.Kill()) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Run(Options{})
			if err != nil {
				t.Fatal(err)
			}
			pids := componentPIDs(t, c)
			if len(pids) != 5 {
				t.Errorf("%d components are running, want 5", len(pids))
			}
			if err := end(c); err != nil {
				t.Fatal(err)
			}
			Eventually(t, func() error { return gone(c, pids) })
			<-c.exited
			if !strings.Contains(name, "SIGKILL") && c.exit != nil {
				t.Errorf("the supervisor failed: %v\n%s", c.exit, c.stderr)
			}
		})
	}
}

func TestNamedFolderIsKept(t *testing.T) {
	if os.Getenv("DEVCLUSTER_KUBECONFIG") != "" {
		t.Skip("a borrowed cluster has no folder")
	}
	// The path of t.TempDir contains the test's name, which is too long for sockets.
	data, err := os.MkdirTemp("", "kept-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	first, err := Run(Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(Options{Data: data}); err == nil {
		t.Error("a second cluster started in the same folder")
	}
	_, err = first.Kubectl("create", "namespace", "kept")
	if err := errors.Join(err, first.Close()); err != nil {
		t.Fatal(err)
	}
	second := Start(t, Options{Data: data})
	if out, err := second.Kubectl("get", "namespace", "kept"); err != nil {
		t.Errorf("the data did not survive: %v\n%s", err, out)
	}
}

func TestCrashedComponentComesBack(t *testing.T) {
	c := Shared(t)
	if c.Borrowed() {
		t.Skip("a borrowed cluster is not ours to break")
	}
	before := componentPIDs(t, c)[Scheduler]
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	Eventually(t, func() error {
		if now := componentPIDs(t, c)[Scheduler]; now == 0 || now == before {
			return errors.New("the scheduler has not been started again")
		}
		return nil
	})
}

func TestReservedClusterIsNobodyElses(t *testing.T) {
	if os.Getenv("DEVCLUSTER_KUBECONFIG") != "" {
		t.Skip("a borrowed cluster is only one")
	}
	var clusters []*Cluster
	options := Options{CRDs: "../../crds"}
	t.Run("two at a time", func(t *testing.T) {
		clusters = []*Cluster{Reserve(t, options), Reserve(t, options)}
		if clusters[0] == clusters[1] {
			t.Error("they are the same")
		}
	})
	t.Run("one later", func(t *testing.T) {
		if !slices.Contains(clusters, Reserve(t, options)) {
			t.Error("it is a new one, though two are idle")
		}
	})
	t.Run("one with other options", func(t *testing.T) {
		if slices.Contains(clusters, Reserve(t, Options{Without: []string{Kwok, Scheduler, ControllerManager}})) {
			t.Error("it has the options of another one")
		}
	})
	t.Run("with its kinds", func(t *testing.T) {
		if out, err := Reserve(t, options).Kubectl("get", "foos,samples", "--all-namespaces"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

var pidLine = regexp.MustCompile(`(?m)^(\S+) .*pid (\d+)$`)

func componentPIDs(t *testing.T, c *Cluster) map[string]int {
	t.Helper()
	status, err := c.Status()
	if err != nil {
		t.Fatal(err)
	}
	pids := map[string]int{}
	for _, match := range pidLine.FindAllStringSubmatch(status, -1) {
		pids[match[1]], _ = strconv.Atoi(match[2])
	}
	return pids
}

// gone returns an error if parts of a cluster still exist.
func gone(c *Cluster, pids map[string]int) error {
	var left []error
	if _, err := os.Stat(c.Data()); !errors.Is(err, fs.ErrNotExist) {
		left = append(left, fmt.Errorf("%s is still there", c.Data()))
	}
	for name, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil && !isZombie(pid) {
			left = append(left, fmt.Errorf("%s is still running as process %d", name, pid))
		}
	}
	return errors.Join(left...)
}

// isZombie reports whether a process has exited but its parent has not yet waited for it.
// After the supervisor's end, the parent is the system's first process.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
