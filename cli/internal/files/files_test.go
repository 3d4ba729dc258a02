package files

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadFileHasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxFile); err != nil {
		t.Fatal(err)
	}
	if data, err := readFile(path); err != nil || len(data) != maxFile {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(path); err == nil || err.Error() != "more than 64 MiB" {
		t.Errorf("got error %v", err)
	}
}
