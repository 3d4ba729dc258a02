//go:build unix

package files

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeInAFolder finds the rules beside a pipe without a writer.
func TestPipeInAFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "rules.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := Reader{}.find(folder, ruleFiles)
	if err != nil || len(found) != 1 || filepath.Base(found[0]) != "rules.yaml" {
		t.Errorf("found %q, %v", found, err)
	}
}
