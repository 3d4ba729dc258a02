package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A watching is a command with -w, and what it prints.
type watching struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *os.File
	text *bufio.Scanner
}

func startWatching(t *testing.T, args ...string) *watching {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("reconcel", args...)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = r.Close() })
	return &watching{t, cmd, r, bufio.NewScanner(io.Reader(r))}
}

// await reads until a line matches.
func (w *watching) await(pattern string) {
	w.t.Helper()
	if err := w.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	for re := regexp.MustCompile(pattern); w.text.Scan(); {
		w.t.Log(w.text.Text())
		if re.MatchString(w.text.Text()) {
			return
		}
	}
	w.t.Fatalf("no line matches %s: %v", pattern, w.text.Err())
}

// interrupt ends the command as Ctrl-C does, and requires success.
func (w *watching) interrupt() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		w.t.Fatal(err)
	}
	for w.text.Scan() {
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("after Ctrl-C: %v", err)
	}
}

const watchedRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: web
  for: {apiVersion: example.com/v1, kind: Web}
  status: {name: "${self.metadata.name}"}
`

// replace replaces a file by a rename, as many editors do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	put(t, path+"~", text)
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

func TestValidateRunsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	put(t, path, watchedRules)
	w := startWatching(t, "validate", "-w", "-f", path)
	w.await(`rules\.yaml: 1 rule ok$`)
	w.await(`^\[\d\d:\d\d:\d\d\] watching for changes`)
	for range 2 {
		replace(t, path, strings.Replace(watchedRules, "self", "slef", 1))
		w.await(`^\[\d\d:\d\d:\d\d\] .*rules\.yaml changed$`)
		w.await(`undeclared name 'slef'`)
		w.await(`watching for changes`)
		put(t, path, watchedRules)
		w.await(`1 rule ok$`)
		w.await(`watching for changes`)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.await(`no such file`)
	w.await(`watching for changes`)
	put(t, path, watchedRules)
	w.await(`1 rule ok$`)
	w.await(`watching for changes`)
	w.interrupt()
}

func TestValidateFindsNewFiles(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "a.yaml"), watchedRules)
	w := startWatching(t, "validate", "-w", "-R", "-f", folder)
	w.await(`watching for changes`)
	if err := os.Mkdir(filepath.Join(folder, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.await(`watching for changes`)
	put(t, filepath.Join(folder, "sub/b.yaml"), strings.NewReplacer("name: web", "name: other", "kind: Web", "kind: Other").Replace(watchedRules))
	w.await(`b\.yaml: 1 rule ok$`)
	w.interrupt()
}

// TestTestRunsAgain changes rules that the test file names.
func TestTestRunsAgain(t *testing.T) {
	folder := t.TempDir()
	rules := filepath.Join(folder, "rules.yaml")
	put(t, rules, watchedRules)
	tests := filepath.Join(folder, "tests.yaml")
	put(t, filepath.Join(folder, "web.yaml"), "{apiVersion: example.com/v1, kind: Web, metadata: {name: a, namespace: default}}\n")
	put(t, tests, `cases:
- name: has its name
  given: web.yaml
  steps:
  - then: {status: {name: a}}
`)
	w := startWatching(t, "test", "-w", tests)
	w.await(`1 case`)
	w.await(`watching`)
	replace(t, rules, strings.Replace(watchedRules, "self.metadata.name", "self.metadata.name + 'x'", 1))
	w.await(`rules\.yaml changed$`)
	w.await(`FAIL|fail`)
	w.interrupt()
}
