package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/rules/source"
)

// endless is a reader without an end, such as /dev/zero.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestInputHasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, objectLimit); err != nil {
		t.Fatal(err)
	}
	zeros := &endless{}
	in := Reader{Stdin: zeros}
	sources, unread := in.Rules([]string{path, Stdin})
	if len(unread) > 0 || len(sources) != 2 {
		t.Fatalf("got %d files, errors %v", len(sources), unread)
	}
	for _, s := range sources {
		if len(s.Data) != sourceLimit {
			t.Errorf("%s: got %d bytes, want %d", s.Name, len(s.Data), sourceLimit)
		}
	}
	if zeros.read > 2*source.MaxFile {
		t.Errorf("read %d bytes of an endless input", zeros.read)
	}
	if err := os.Truncate(path, objectLimit+1); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Objects([]string{path}); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got error %v", err)
	}
	if _, err := in.Objects([]string{Stdin}); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("got error %v", err)
	}
}

func TestPipeThatNobodyWritesTo(t *testing.T) {
	path := namedPipe(t)
	writerWait = time.Millisecond
	t.Cleanup(func() { writerWait = 10 * time.Second })
	if _, err := (Reader{}).Read(path); !errors.Is(err, errNoWriter) {
		t.Errorf("got error %v", err)
	}
}

func TestPipeIntoWhichNothingIsWritten(t *testing.T) {
	path := namedPipe(t)
	bytesWait = time.Millisecond
	t.Cleanup(func() { bytesWait = time.Minute })
	silent, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := (Reader{}).Read(path); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
}

func TestPipeIsReadToItsEnd(t *testing.T) {
	path := namedPipe(t)
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte("text"), 0) }()
	file, err := (Reader{}).Read(path)
	if err != nil || string(file.Data) != "text" {
		t.Errorf("got %q, %v", file.Data, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func namedPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTextsStandForFiles(t *testing.T) {
	r := Reader{Texts: map[string]string{"rules.yaml": "kind: Rules\n", "objects.yaml": "{kind: ConfigMap, apiVersion: v1, metadata: {name: a}}"}}
	objects, err := r.Objects([]string{"objects.yaml"})
	if err != nil || len(objects) != 1 || objects[0].Unstructured.GetName() != "a" {
		t.Errorf("got %v, %v", objects, err)
	}
	found, unread := r.Rules([]string{"rules.yaml", "files.go"})
	if len(found) != 1 || string(found[0].Data) != "kind: Rules\n" {
		t.Errorf("got %v", found)
	}
	if len(unread) != 1 || unread[0].Pos.File != "files.go" { // It exists beside this test.
		t.Errorf("unread: %v", unread)
	}
	if crds := r.Definitions([]string{"."}); len(crds) > 0 {
		t.Errorf("got CRDs of the folder: %v", crds)
	}
}
