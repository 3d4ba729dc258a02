package cli

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/cli/internal/exit"
)

// TestSchemaIsCheckedIn compares the schemas in docs, which the examples refer to, with
// the output of the command.
func TestSchemaIsCheckedIn(t *testing.T) {
	for path, args := range map[string][]string{
		"../docs/rules.schema.json": {"schema"},
		"../docs/tests.schema.json": {"schema", "--tests"},
	} {
		t.Run(path, func(t *testing.T) { schemaIsCheckedIn(t, path, args) })
	}
}

func schemaIsCheckedIn(t *testing.T, path string, args []string) {
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	if code := a.main(args); code != exit.Yes {
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
