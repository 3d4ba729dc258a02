package cli

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSchemaIsCheckedIn compares docs/rules.schema.json, which the examples
// name, with what the command prints.
func TestSchemaIsCheckedIn(t *testing.T) {
	const path = "../docs/rules.schema.json"
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	if code := a.main([]string{"schema"}); code != exitYes {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if *update {
		if err := os.WriteFile(path, stdout.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), stdout.String()); diff != "" {
		t.Errorf("not up to date, run: go test ./cli -run Schema -update\n-want +got:\n%s", diff)
	}
}
