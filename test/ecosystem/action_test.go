package ecosystem

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"
)

// TestActionIsSound uses the action for GitHub as the page does, and lints the workflow,
// the inputs and the metadata of the action.
func TestActionIsSound(t *testing.T) {
	page := string(readFile(t, "../../docs/how-to/test-in-ci.md"))
	used := regexp.MustCompile("(?s)```yaml\n(- uses: example/reconcel@.*?)```").FindAllStringSubmatch(page, -1)
	if len(used) < 2 {
		t.Fatalf("%d workflows on the page", len(used))
	}
	text := "on: push\njobs:\n  check:\n    runs-on: ubuntu-latest\n    steps:\n    - uses: actions/checkout@v5\n"
	for _, block := range used {
		step := regexp.MustCompile(`example/reconcel@\w+`).ReplaceAllString(strings.TrimSpace(block[1]), "./")
		text += "    " + strings.ReplaceAll(step, "\n", "\n    ") + "\n"
	}
	if wrong := lintWorkflow(t, text); len(wrong) > 0 {
		t.Errorf("%v in\n%s", wrong, text)
	}
	// What is not an input is a mistake.
	if wrong := lintWorkflow(t, strings.Replace(text, "command: validate", "commands: validate", 1)); len(wrong) != 1 {
		t.Errorf("a wrong input: got %v", wrong)
	}
}

// TestStepsOfAction lints the steps of the action, which actionlint does not read in an
// action, as those of a workflow with the same inputs.
func TestStepsOfAction(t *testing.T) {
	var action struct {
		Inputs map[string]map[string]any
		Runs   struct{ Steps []any }
	}
	if err := yaml.Unmarshal(readFile(t, "../../action.yml"), &action); err != nil {
		t.Fatal(err)
	}
	for _, input := range action.Inputs {
		maps.Copy(input, map[string]any{"type": "string"})
	}
	text, err := yaml.Marshal(map[string]any{
		"on":   map[string]any{"workflow_call": map[string]any{"inputs": action.Inputs}},
		"jobs": map[string]any{"steps": map[string]any{"runs-on": "ubuntu-latest", "steps": action.Runs.Steps}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := lintWorkflow(t, string(text)); len(wrong) > 0 || len(action.Runs.Steps) == 0 {
		t.Errorf("%v in\n%s", wrong, text)
	}
}

// lintWorkflow returns what actionlint finds in a workflow of a repository with the action.
func lintWorkflow(t *testing.T, text string) []*actionlint.Error {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "action.yml"), readFile(t, "../../action.yml"), 0o600); err != nil {
		t.Fatal(err)
	}
	project, err := actionlint.NewProject(root)
	if err != nil {
		t.Fatal(err)
	}
	shellcheck, _ := exec.LookPath("shellcheck") // Without it, scripts are not checked.
	var output bytes.Buffer
	linter, err := actionlint.NewLinter(&output, &actionlint.LinterOptions{WorkingDir: root, Shellcheck: shellcheck})
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := linter.Lint(filepath.Join(root, ".github", "workflows", "check.yml"), []byte(text), project)
	if err != nil {
		t.Fatal(err)
	}
	return wrong
}
