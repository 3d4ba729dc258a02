package source

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// testShape has a key for each type of value.
func testShape() *Shape {
	item := Shape{Doc: "An item.", Keys: []Key{
		{Name: "name", Doc: "Its name.", Value: FilledText, Required: true},
		{Name: "times", Doc: "How often.", Value: WholeNumber(1), Default: "1"},
		{Name: "after", Doc: "How long.", Value: DurationText},
		{Name: "error", Doc: "What is answered.", Value: OneOf("Forbidden", "Conflict")},
		{Name: "lost", Doc: "Whether the answer is lost.", Value: Boolean},
	}}
	return &Shape{Doc: "A file.", Keys: []Key{
		{Name: "items", Doc: "Some.", Value: ListOf(item.Schema())},
		{Name: "paths", Doc: "One or many.", Value: OneOrMany(FilledText)},
		{Name: "object", Doc: "Anything.", Value: EitherOf(FilledText, AnyMap)},
		{Name: "many", Doc: "By name.", Value: EntriesOf(WholeNumber(0))},
		{Name: "patch", Doc: "A list, or nothing.", Value: EitherOf(AnyList, OnlyNull)},
	}, Wrong: map[string]WrongKey{"entries": {Hint: "write items:", Means: "items"}}}
}

func TestShapeReads(t *testing.T) {
	file := `# A comment.
items:
- &a {name: a, times: 2, after: 90s, error: Conflict, lost: true}
- <<: *a
  name: ${b}
paths: one
object: {"${a}": 1, b: [1.5, null, 2020-01-01]}
many: {Pod: 0}
patch:
`
	got, err := testShape().ReadFile(File{Name: "x.yaml", Data: []byte(file)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"items": []any{
			map[string]any{"name": "a", "times": int64(2), "after": "90s", "error": "Conflict", "lost": true},
			map[string]any{"name": "${b}", "times": int64(2), "after": "90s", "error": "Conflict", "lost": true},
		},
		"paths":  "one",
		"object": map[string]any{"${a}": int64(1), "b": []any{1.5, nil, "2020-01-01"}},
		"many":   map[string]any{"Pod": int64(0)},
		"patch":  nil,
	}
	if diff := cmp.Diff(want, got.Plain()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if pos := got.Fields[0].Value.Items[1].Pos; pos != (Pos{"x.yaml", 4, 3}) {
		t.Errorf("the second item is at %s", pos)
	}
}

// TestShapeRefuses compares the whole report for each mistake.
func TestShapeRefuses(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"itms: []", "x.yaml:1:1: unknown key \"itms\" (did you mean 'items'?)"},
		{"entries: []", "x.yaml:1:1: unknown key \"entries\" (write items:)"},
		{"items: [{nam: a}]", "x.yaml:1:10: items[0]: unknown key \"nam\" (did you mean 'name'?)"},
		{"items: [{times: 1}]", "x.yaml:1:9: items[0]: missing name"},
		{"items: [{name: a, times: 0}]", "x.yaml:1:26: items[0] \"a\": times: must be at least 1, got 0"},
		{"items: [{name: a, times: 1.5}]", "x.yaml:1:26: items[0] \"a\": times: expected a whole number, got a number"},
		{"items: [{name: a, after: 10}]", "x.yaml:1:26: items[0] \"a\": after: expected a duration, got a number (write 10s, 10m or 10h)"},
		{"items: [{name: a, error: Conflct}]", "x.yaml:1:26: items[0] \"a\": error: expected Forbidden or Conflict, got \"Conflct\" (did you mean 'Conflict'?)"},
		{"items: [{name: a, lost: 1}]", "x.yaml:1:25: items[0] \"a\": lost: expected true or false, got a number"},
		{"items: [{name: ''}]", "x.yaml:1:16: items[0].name: is empty"},
		{"items: a", "x.yaml:1:8: items: expected a list, got a string"},
		{"paths: [a, {}]", "x.yaml:1:12: paths[1]: expected a string, got a map"},
		{"paths: {}", "x.yaml:1:8: paths: expected a string or a list, got a map"},
		{"object: 1", "x.yaml:1:9: object: expected a string or a map, got a number"},
		{"many: {Pod: -1}", "x.yaml:1:13: many.Pod: must be at least 0, got -1"},
		{"items: []\nitems: []", "x.yaml:2:1: duplicate key \"items\", first at x.yaml:1:1"},
		{"items: []\n---\nitems: []", "x.yaml:3:1: a second document (write it into a file of its own)"},
		{"# nothing", "x.yaml:1:1: file is empty"},
		{"object: !a {}", "x.yaml:1:9: YAML reads \"!a\" as a tag, and tags have no meaning here (write '!a {}')"},
		{"\tobject: a", "x.yaml:1:1: not valid YAML: found character that cannot start any token (indent with spaces, YAML forbids tabs)"},
	} {
		_, err := testShape().ReadFile(File{Name: "x.yaml", Data: []byte(c.file)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\nwant: %s\ngot:  %v", c.file, c.want, err)
		}
	}
}

// TestShapeSchema compares the JSON Schema of a shape with the files that ReadFile
// accepts.
func TestShapeSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(testShape().JSONSchema("a test")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("shape.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("shape.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		"items: [{name: a, times: 1, after: 10s, error: Conflict, lost: false}]", "paths: a", "paths: [a, b]", "object: {}", "object: a",
		"many: {a: 0}", "patch:", "patch: [1]",
	} {
		if isYAML, err := judge(s, File{Name: "x.yaml", Data: []byte(file)}); !isYAML || err != nil {
			t.Errorf("%s: is right, but: %v", file, err)
		}
	}
	for _, file := range []string{
		"itms: []", "items: [{}]", "items: [{name: ''}]", "items: [{name: a, times: 0}]", "items: [{name: a, after: 10}]",
		"items: [{name: a, error: X}]", "items: [{name: a, lost: 1}]", "paths: [1]", "object: [1]", "many: {a: -1}", "patch: a",
	} {
		if isYAML, err := judge(s, File{Name: "x.yaml", Data: []byte(file)}); !isYAML || err == nil {
			t.Errorf("%s: is wrong, but accepted", file)
		}
	}
}

// judge validates a file against a schema, and reports whether the file is YAML.
func judge(s *jsonschema.Schema, file File) (isYAML bool, err error) {
	docs, isYAML := new(Reader).Documents(file)
	for _, doc := range docs {
		if e := s.Validate(doc.AsItIs().Plain()); e != nil {
			err = e
		}
	}
	return isYAML, err
}
