//go:build unix

package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reconcel/rules/source"
)

// readingFile reads rules that read a file.
func readingFile(t *testing.T, at, path string) source.TextFile {
	t.Helper()
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: a\n  for: {apiVersion: example.com/v1, kind: Foo}\n" +
		"  # file('comment.txt')\n  status: {x: \"text ${size(file(\\\"" + path + "\\\"))}\"}\n"
	put(t, at, []byte(text))
	found, unread := Reader{}.Rules([]string{at})
	if len(unread) > 0 || len(found) != 1 || len(found[0].Beside) != 1 || found[0].Beside[0].Path != path {
		t.Fatalf("%s: got %+v, %v", path, found, unread)
	}
	return found[0].Beside[0]
}

func put(t *testing.T, at string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func TestFilesBesideRules(t *testing.T) {
	outside := t.TempDir()
	folder := filepath.Join(outside, "rules")
	in := func(path string) string { return filepath.Join(folder, path) }
	put(t, filepath.Join(outside, "secret.txt"), []byte("secret"))
	put(t, in("comment.txt"), nil)
	put(t, in("a.txt"), []byte("ä\r\n"))
	put(t, in("sub/b.txt"), []byte("b"))
	put(t, in("full.txt"), bytes.Repeat([]byte("x"), mostBeside))
	put(t, in("large.txt"), bytes.Repeat([]byte("x"), mostBeside+1))
	put(t, in("bytes.png"), []byte("\x89PNG"))
	link(t, "a.txt", in("link.txt"))
	link(t, "../secret.txt", in("out.txt"))
	link(t, filepath.Join(outside, "secret.txt"), in("absolute.txt"))
	link(t, "..", in("up"))
	if err := syscall.Mkfifo(in("pipe.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	const leaves = "the path must begin at the folder of the rules, and not leave it"
	for path, want := range map[string]source.TextFile{
		"a.txt":                              {Text: "ä\r\n"},
		"./a.txt":                            {Text: "ä\r\n"},
		"sub/b.txt":                          {Text: "b"},
		"sub/../a.txt":                       {Text: "ä\r\n"},
		"link.txt":                           {Text: "ä\r\n"},
		"full.txt":                           {Text: strings.Repeat("x", mostBeside)},
		"large.txt":                          {Wrong: "the file has more than 256 KiB"},
		"bytes.png":                          {Wrong: "the file is not UTF-8 text: for bytes, write it as base64, which binaryData takes"},
		"gone.txt":                           {Wrong: "there is no such file in the folder of the rules: " + folder},
		"sub":                                {Wrong: "is not a file"},
		"pipe.txt":                           {Wrong: "is not a file"},
		"../secret.txt":                      {Wrong: leaves},
		"sub/../../secret.txt":               {Wrong: leaves},
		filepath.Join(outside, "secret.txt"): {Wrong: leaves},
		"":                                   {Wrong: leaves},
		"out.txt":                            {Wrong: "a link leads out of the folder of the rules, or is absolute: " + folder},
		"absolute.txt":                       {Wrong: "a link leads out of the folder of the rules, or is absolute: " + folder},
		"up/secret.txt":                      {Wrong: "a link leads out of the folder of the rules, or is absolute: " + folder},
	} {
		want.Path = path
		if got := readingFile(t, in("rules.yaml"), path); got != want {
			t.Errorf("%q: got %.100q, want %.100q", path, got, want)
		}
	}
}

// TestFilesInAConfigMap reads files as Kubernetes mounts them.
func TestFilesInAConfigMap(t *testing.T) {
	folder := t.TempDir()
	now := filepath.Join(folder, "..2026_11_30")
	put(t, filepath.Join(now, "sub/a.txt"), []byte("a"))
	put(t, filepath.Join(now, "b.txt"), []byte("b"))
	link(t, "..2026_11_30", filepath.Join(folder, "..data"))
	for _, name := range []string{"sub", "b.txt", "rules.yaml"} {
		link(t, "..data/"+name, filepath.Join(folder, name))
	}
	for path, want := range map[string]string{"sub/a.txt": "a", "b.txt": "b"} {
		if got := readingFile(t, filepath.Join(folder, "rules.yaml"), path); got.Text != want {
			t.Errorf("%s: got %+v", path, got)
		}
	}
}

// TestFilesThatFitNoConfigMap reads rules whose files are too large together.
func TestFilesThatFitNoConfigMap(t *testing.T) {
	folder, text := t.TempDir(), "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\ndefine:\n"
	for _, name := range []string{"a", "b", "c", "d"} {
		put(t, filepath.Join(folder, name), bytes.Repeat([]byte("x"), mostBeside))
		text += "  " + name + ": size(file('" + name + "')) + size(file('" + name + "'))\n"
	}
	put(t, filepath.Join(folder, "rules.yaml"), []byte(text+"rules: []\n"))
	found, _ := Reader{}.Rules([]string{folder})
	if b := found[0].Beside; len(b) != 4 || b[2].Wrong != "" || !strings.Contains(b[3].Wrong, "more than 1048576 bytes together") {
		t.Errorf("got %.300q", b)
	}
}

// TestFilesThatLookLikeRules passes over a file that rules in the same folder read.
func TestFilesThatLookLikeRules(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "firewall.yaml"), []byte("rules: [{port: 80}]\n"))
	readingFile(t, filepath.Join(folder, "rules.yaml"), "firewall.yaml")
	found, passed, unread := Reader{}.Select([]string{folder})
	if len(found) != 1 || len(passed) != 1 || filepath.Base(passed[0]) != "firewall.yaml" || len(unread) > 0 {
		t.Errorf("got %d files, passed over %q, %v", len(found), passed, unread)
	}
}

// TestRulesWithoutAFolder reads no files for rules from standard input, and in the playground.
func TestRulesWithoutAFolder(t *testing.T) {
	const text = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\ndefine:\n  a: file('files.go')\nrules: []\n"
	for path, r := range map[string]Reader{
		Stdin: {Stdin: strings.NewReader(text)}, "a.yaml": {Texts: map[string]string{"a.yaml": text, "files.go": "x"}},
	} {
		if found, _ := r.Rules([]string{path}); len(found) != 1 || found[0].Beside != nil {
			t.Errorf("got %+v", found)
		}
	}
}
