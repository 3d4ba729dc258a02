package files

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplaceKeepsWhatIsNotContent replaces a file behind a link.
func TestReplaceKeepsWhatIsNotContent(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	at, _ := os.Lstat(link)
	if string(text) != "new" || err != nil || info.Mode() != 0o640 || at.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q, %v, mode %v, the link has mode %v", text, err, info.Mode(), at.Mode())
	}
}

// TestReplaceChangesAllOrNothing expects no other files in the folder, also after an error.
func TestReplaceChangesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	if err := Replace(filepath.Join(dir, "a"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".b.new"), 0o755); err != nil { // The next content cannot be written.
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Join(dir, "b"), []byte("new")); err == nil {
		t.Error("no error")
	}
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	text, _ := os.ReadFile(filepath.Join(dir, "b"))
	if string(text) != "old" || len(names) > 3 {
		t.Errorf("%q, files %q", text, names)
	}
	if err := Replace(os.DevNull, []byte("x")); err != nil {
		t.Error(err)
	}
}
