package main

import (
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
	out := "k8s.io/api/core/v1\nruntime\n# reconcel/devcluster/controlplane\ncontrolplane/main.go:7:2: undefined: x\n"
	var seen []int
	count, rest := watchBuild(strings.NewReader(out), func(n int) { seen = append(seen, n) })
	if count != 2 || !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("counted %d packages, one after the other %v", count, seen)
	}
	if want := "# reconcel/devcluster/controlplane\ncontrolplane/main.go:7:2: undefined: x\n"; rest != want {
		t.Errorf("the compiler's complaint is %q, want %q", rest, want)
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
