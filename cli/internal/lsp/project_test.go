package lsp_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/lsp"
)

// TestJudgesByTheProject changes the settings of a project while its file is open.
func TestJudgesByTheProject(t *testing.T) {
	folder, elsewhere := webs(t), t.TempDir()
	var project atomic.Value
	project.Store(lsp.Project{})
	c := startWith(t, lsp.Options{Project: func(root string) (lsp.Project, error) {
		if root != folder {
			t.Errorf("asked for the settings of %q, expected those of the workspace", root)
		}
		p := project.Load().(lsp.Project)
		if len(p.CRDs) == 1 && p.CRDs[0] == "wrong" {
			return lsp.Project{}, errors.New("reconcel.yaml: unknown key")
		}
		return p, nil
	}})
	c.initialize(object{"rootUri": "file://" + folder})
	c.open(folder, head+"  children:\n  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}}\n")
	findings := func() (severities []int) {
		for _, f := range c.diagnostics(c.uri(folder)) {
			severities = append(severities, f.Severity)
		}
		return severities
	}
	expect := func(what string, want ...int) {
		t.Helper()
		if got := findings(); len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
			t.Errorf("%s: findings of severities %v, expected %v", what, got, want)
		}
	}
	set := func(p lsp.Project) {
		t.Helper()
		project.Store(p)
		c.notify("textDocument/didSave", object{"textDocument": object{"uri": c.uri(folder)}})
	}
	expect("no settings", 2)
	set(lsp.Project{Strict: true})
	expect("strict", 1)
	set(lsp.Project{Policy: judge.Policy{IgnoreChecks: []string{"literal-name"}}})
	expect("the check is turned off")
	set(lsp.Project{CRDs: []string{"wrong"}})
	expect("wrong settings: the last ones count")
	var told []string
	for _, n := range c.notes {
		var p struct{ Message string }
		if n.Method == "window/showMessage" && json.Unmarshal(n.Params, &p) == nil {
			told = append(told, p.Message)
		}
	}
	if len(told) != 1 || told[0] != "reconcel.yaml: unknown key" {
		t.Errorf("told %q, expected the mistake in the settings", told)
	}
	set(lsp.Project{CRDs: []string{filepath.Join(elsewhere, "none.yaml")}})
	expect("CRDs elsewhere", 2)
}
