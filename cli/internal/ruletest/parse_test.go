package ruletest_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules/source"
)

// TestBadFiles compares the whole report for each file in testdata/bad. The files test
// the rules of examples/foo.
func TestBadFiles(t *testing.T) {
	s := setting(t)
	for _, path := range files(t, "testdata/bad/*.yaml") {
		t.Run(path, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := ruletest.Parse(source.File{Name: path, Data: data})
			if err == nil {
				_, err = file.Prepare(s)
			}
			var complaints source.Errors
			if !errors.As(err, &complaints) {
				t.Fatalf("expected complaints, got %v", err)
			}
			var b bytes.Buffer
			if err := complaints.Report(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".txt", b.String())
		})
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(ruletest.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tests.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("tests.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaTakesTheExamples(t *testing.T) {
	s := compileSchema(t)
	for _, path := range append(files(t, examples+"*/tests.yaml"), files(t, "testdata/failing/*.yaml")...) {
		if err := s.Validate(decode(t, path)); err != nil {
			t.Errorf("%s: is right, but: %v", path, err)
		}
	}
}

// beyondSchema are the files of testdata/bad whose mistakes no JSON schema can express.
const beyondSchema = "action-many action-none fields kinds metadata objects references twice values"

func TestSchemaRefusesBadFiles(t *testing.T) {
	s := compileSchema(t)
	for _, path := range files(t, "testdata/bad/*.yaml") {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "testdata/bad/"), ".yaml")
		beyond := strings.Contains(" "+beyondSchema+" ", " "+name+" ")
		if err := s.Validate(decode(t, path)); beyond == (err != nil) {
			t.Errorf("%s: expected to be beyond the schema: %t, but it says: %v", path, beyond, err)
		}
	}
}

// TestReferenceIsComplete requires a description of every key, and a mention of every key
// in the reference.
func TestReferenceIsComplete(t *testing.T) {
	reference, err := os.ReadFile("../../../docs/reference/tests.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			properties, _ := value["properties"].(map[string]any)
			for name, property := range properties {
				if property.(map[string]any)["description"] == nil {
					t.Errorf("%s has no description", name)
				}
				if !bytes.Contains(reference, []byte("`"+name+"`")) {
					t.Errorf("docs/reference/tests.md says nothing of %s", name)
				}
			}
			for _, v := range value {
				walk(v)
			}
		case []any:
			for _, v := range value {
				walk(v)
			}
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(ruletest.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	walk(doc)
}
