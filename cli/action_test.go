package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/exit"
)

// TestHooksOfPreCommit runs the entry of each hook on an example.
func TestHooksOfPreCommit(t *testing.T) {
	data, err := os.ReadFile("../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct{ ID, Name, Language, Entry string }
	if err := yaml.Unmarshal(data, &hooks); err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	text, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rules, text, 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := map[string][]string{
		"reconcel-fmt": {"-f", rules}, "reconcel-validate": {"-f", rules, "--crd", "../crds"}, "reconcel-test": {"../examples/foo"},
	}
	if len(hooks) != len(arguments) {
		t.Errorf("%d hooks, %d are tested", len(hooks), len(arguments))
	}
	for _, hook := range hooks {
		entry := strings.Fields(hook.Entry)
		if hook.Language != "golang" || entry[0] != "reconcel" || hook.Name == "" {
			t.Errorf("%+v", hook)
		}
		var output bytes.Buffer
		a := &app{stdout: &output, stderr: &output}
		if code := a.main(slices.Concat(entry[1:], arguments[hook.ID])); code != exit.Yes {
			t.Errorf("%s: exit code %d: %s", hook.ID, code, &output)
		}
	}
}
