//go:build unix

package cli

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeInAFolder finds the rules beside a pipe, to which nobody writes.
func TestPipeInAFolder(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "rules.yaml"), named("a"))
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := search{extensions: []string{".yaml"}}.find(folder)
	if err != nil || len(found) != 1 || filepath.Base(found[0]) != "rules.yaml" {
		t.Errorf("found %q, %v", found, err)
	}
}
