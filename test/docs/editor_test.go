package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestExtensionIsValid checks what VS Code requires of the extension, and that it sends
// every setting that it declares.
func TestExtensionIsValid(t *testing.T) {
	folder := filepath.Join(root, "docs/editors/vscode")
	data, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Name, Version, Publisher, Main string
		Engines                        map[string]string
		ActivationEvents               []string
		Dependencies                   map[string]string
		Contributes                    struct {
			Configuration struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Name == "" || manifest.Version == "" || manifest.Publisher == "" || manifest.Engines["vscode"] == "" || manifest.Dependencies["vscode-languageclient"] == "" {
		t.Errorf("a required key is missing: %+v", manifest)
	}
	if !slices.Contains(manifest.ActivationEvents, "onLanguage:yaml") {
		t.Errorf("activation events are %q, without YAML", manifest.ActivationEvents)
	}
	main := filepath.Join(folder, manifest.Main)
	code, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	for name := range manifest.Contributes.Configuration.Properties {
		if setting := strings.TrimPrefix(name, "reconcel."); !strings.Contains(string(code), "'"+setting+"'") {
			t.Errorf("%s does not use the setting %s", manifest.Main, name)
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here to check the syntax of the extension")
	}
	if out, err := exec.Command(node, "--check", main).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
