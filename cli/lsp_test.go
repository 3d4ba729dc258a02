package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/lsp"
)

func TestLanguageServerReadsTheProjectOfTheWorkspace(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "reconcel.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	given := pflag.NewFlagSet("lsp", pflag.ContinueOnError)
	(&lspFlags{}).flags(given)
	if err := given.Parse([]string{"--ignore-check", "a,b", "--namespaced", "team"}); err != nil {
		t.Fatal(err)
	}
	flags := judge.Policy{Namespaces: []string{"team"}, IgnoreChecks: []string{"a", "b"}}
	for _, step := range []struct {
		name, text string
		want       lsp.Project
		wrong      bool
	}{
		{name: "keys of the file", text: "crd: [crds, /abs]\nstrict: true\nrules: [rules]\nworkers: 3\n", want: lsp.Project{
			CRDs: []string{filepath.Join(root, "crds"), "/abs"}, Policy: flags, Strict: true,
		}},
		{name: "keys that are gone, and flags that win", text: "ignore-check: [c]\nnamespaced: [other]\n", want: lsp.Project{Policy: flags}},
		{name: "a mistake", text: "strcit: true\n", want: lsp.Project{Policy: flags}, wrong: true},
	} {
		write(step.text)
		got, err := projectIn(root, given)
		if (err != nil) != step.wrong {
			t.Errorf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
