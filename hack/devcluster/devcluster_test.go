package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWatchBuildTellsPackagesFromComplaints(t *testing.T) {
	out := "k8s.io/api/core/v1\nruntime\n# reconcel/hack/devcluster/controlplane\ncontrolplane/main.go:7:2: undefined: x\n"
	var seen []int
	count, rest := watchBuild(strings.NewReader(out), func(n int) { seen = append(seen, n) })
	if count != 2 || !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("counted %d packages, one after the other %v", count, seen)
	}
	if want := "# reconcel/hack/devcluster/controlplane\ncontrolplane/main.go:7:2: undefined: x\n"; rest != want {
		t.Errorf("the compiler's complaint is %q, want %q", rest, want)
	}
}

func TestSelectedRelease(t *testing.T) {
	all, err := releases()
	if err != nil {
		t.Fatal(err)
	}
	newest := all[len(all)-1]
	for _, r := range all {
		t.Setenv(envKubernetes, r.minor)
		if got, err := selectedRelease(); err != nil || got != r {
			t.Errorf("%s: got %v, %v", r.minor, got, err)
		}
		if compareMinors(r.minor, newest.minor) > 0 {
			t.Errorf("%s is newer than the newest one, %s", r.minor, newest.minor)
		}
	}
	t.Setenv(envKubernetes, "")
	if got, err := selectedRelease(); err != nil || got != newest {
		t.Errorf("by default: got %v, %v; want the newest one, %v", got, err, newest)
	}
	for _, unknown := range []string{"1.9", "v" + newest.minor, newest.version, "latest"} {
		t.Setenv(envKubernetes, unknown)
		_, err := selectedRelease()
		if !errors.Is(err, errUsage) {
			t.Fatalf("%s: got %v, want a usage error", unknown, err)
		}
		for _, r := range all {
			if !strings.Contains(err.Error(), r.minor) {
				t.Errorf("%s: %v; want an error that lists all minors, also %s", unknown, err, r.minor)
			}
		}
	}
}

func TestCompareMinors(t *testing.T) {
	sorted := []string{"1.9", "1.10", "1.37", "2.0"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := compareMinors(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("%s, %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestDataOfANewerMinorIsRefused(t *testing.T) {
	data := t.TempDir()
	for _, step := range []struct {
		minor   string
		refused bool
		want    string
	}{
		{minor: "1.36", want: "1.36"},
		{minor: "1.33", refused: true, want: "1.36"},
		{minor: "", want: "1.36"},
		{minor: "1.37", want: "1.37"},
	} {
		c := &cluster{data: data, minor: step.minor}
		if err := c.recordMinor(); (err != nil) != step.refused {
			t.Errorf("%q: got %v, refused should be %v", step.minor, err, step.refused)
		}
		if got, err := recordedMinor(data); err != nil || got != step.want {
			t.Errorf("%q: the folder says %q, %v; want %q", step.minor, got, err, step.want)
		}
	}
}

func TestKubectlIsThatOfTheCluster(t *testing.T) {
	t.Setenv(envKubernetes, "")
	t.Setenv(envAssets, "")
	data := t.TempDir()
	newest, err := selectedRelease()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(data, "kubeconfig")
	if got, err := kubectlMinor(kubeconfig); err != nil || got != newest.minor {
		t.Errorf("of an unknown cluster: got %q, %v; want the default, %s", got, err, newest.minor)
	}
	if err := (&cluster{data: data, minor: "1.33"}).recordMinor(); err != nil {
		t.Fatal(err)
	}
	if got, err := kubectlMinor(kubeconfig); err != nil || got != "1.33" {
		t.Errorf("of a cluster of 1.33: got %q, %v", got, err)
	}
}

func TestParseUser(t *testing.T) {
	for text, want := range map[string]user{
		"alice":                  {name: "alice"},
		"bob:dev,system:masters": {name: "bob", groups: []string{"dev", "system:masters"}},
	} {
		got, err := parseUser(text)
		if err != nil || got.name != want.name || !slices.Equal(got.groups, want.groups) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":dev", "../etc", "a/b"} {
		if _, err := parseUser(text); !errors.Is(err, errUsage) {
			t.Errorf("%q: got %v, want a usage error: the name becomes a file's name", text, err)
		}
	}
}

func TestKubectlNeverFallsBackToTheUsersCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "/production")
	t.Setenv(envKubeconfig, "")
	if _, _, err := kubectlCluster([]string{"get", "pods", "--kubeconfig=/x"}); !errors.Is(err, errUsage) {
		t.Errorf("got %v, want a usage error: no cluster was named", err)
	}
	kubeconfig, rest, err := kubectlCluster([]string{"--data", "/tmp/c", "get", "pods", "--kubeconfig=/x"})
	if err != nil || kubeconfig != "/tmp/c/kubeconfig" || !slices.Equal(rest, []string{"get", "pods", "--kubeconfig=/x"}) {
		t.Errorf("got %q, %q, %v", kubeconfig, rest, err)
	}
}

func TestExcludedControllersAreNotWaitedFor(t *testing.T) {
	for list, excluded := range map[string]bool{
		"":                             false,
		"*":                            false,
		"*,-serviceaccount":            true,
		"*,-serviceaccount-controller": true,
		"garbagecollector":             true,
		"serviceaccount":               false,
	} {
		c := &cluster{options: upOptions{controllers: list}}
		if got := c.excludes("serviceaccount"); got != excluded {
			t.Errorf("--controllers=%q: excluded is %v, want %v", list, got, excluded)
		}
	}
}

func TestJanitorRemovesOnlyFoldersOfItsOwn(t *testing.T) {
	mine := filepath.Join(t.TempDir(), tempPrefix+"1")
	foreign := filepath.Join(t.TempDir(), "home")
	for _, dir := range []string{mine, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := runJanitor(strings.NewReader("remove " + mine + "\nremove " + foreign + "\n")); err == nil {
		t.Error("the order to remove a foreign folder was not refused")
	}
	if _, err := os.Stat(mine); err == nil {
		t.Error("its own folder is still there")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("the foreign folder: %v", err)
	}
}

func TestReservedPortIsTaken(t *testing.T) {
	first, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.close)
	second, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.close)
	if first.number == second.number {
		t.Errorf("both got port %d", first.number)
	}
	if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first.number)); err == nil {
		listener.Close()
		t.Error("another process could take the port")
	}
}
