package ecosystem

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHooksInPreCommit runs the hooks of the last commit with pre-commit itself, in a
// repository with rules and the configuration of the page.
func TestHooksInPreCommit(t *testing.T) {
	if _, err := exec.LookPath("pre-commit"); err != nil {
		t.Skip("no pre-commit: install the package pre-commit")
	}
	sources, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// pre-commit builds reconcel as make build does. Go finds the packages that are built
	// already, in folders that pre-commit would replace.
	output, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Fields(string(output))
	environ := append(os.Environ(), "PRE_COMMIT_HOME="+t.TempDir(), "GOMODCACHE="+caches[0], "GOCACHE="+caches[1], "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	folder := t.TempDir()
	run := func(command ...string) (string, error) {
		c := exec.Command(command[0], command[1:]...)
		c.Dir, c.Env = folder, environ
		out, err := c.CombinedOutput()
		return string(out), err
	}
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755), os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	must := func(command ...string) string {
		t.Helper()
		out, err := run(command...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
		return strings.TrimSpace(out)
	}
	page := regexp.MustCompile("(?s)```yaml\n# .pre-commit-config.yaml\n(.*?)```").FindSubmatch(readFile(t, "../../docs/how-to/test-in-ci.md"))
	commit := must("git", "-C", sources, "rev-parse", "HEAD")
	write(".pre-commit-config.yaml", strings.NewReplacer("https://git.example.com/reconcel", sources, "rev: v1", "rev: "+commit).Replace(string(page[1])))
	must("pre-commit", "validate-manifest", filepath.Join(sources, ".pre-commit-hooks.yaml"))

	rules := string(readFile(t, "../../examples/foo/rules.yaml"))
	write("rules/rules.yaml", rules)
	write("rules/tests.yaml", strings.Replace(string(readFile(t, "../../examples/foo/tests.yaml")), "crds: ../../crds", "crds: ../crds", 1))
	write("rules/foo.yaml", string(readFile(t, "../../examples/foo/foo.yaml")))
	write("crds/foo.yaml", string(readFile(t, "../../crds/samplecontroller.k8s.io_foos.yaml")))
	must("git", "init", "--quiet")
	must("git", "add", "--all")
	must("pre-commit", "run", "--all-files")

	write("rules/rules.yaml", strings.NewReplacer("self.spec.replicas", "self.spec.replica", "\n  let:", "\n\n\n  let:").Replace(rules))
	out, err := run("pre-commit", "run", "--all-files")
	if err == nil {
		t.Errorf("rules with a mistake pass:\n%s", out)
	}
	for _, want := range []string{
		"(?s)id: reconcel-fmt\n- files were modified by this hook",
		"(?s)id: reconcel-validate\n- exit code: 1\n.*undefined field 'replica'",
		"(?s)id: reconcel-test\n- exit code: 1\n.*undefined field 'replica'",
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
