package syntax

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// testForm has a key for each sort of value.
func testForm() *Form {
	item := NewForm("An item.",
		Key{Name: "name", Doc: "Its name.", Value: TextValue(), Required: true},
		Key{Name: "times", Doc: "How often.", Value: NumberValue(1), Default: "1"},
		Key{Name: "after", Doc: "How long.", Value: DurationValue()},
		Key{Name: "error", Doc: "What is answered.", Value: OneOf("Forbidden", "Conflict")},
		Key{Name: "lost", Doc: "Whether the answer is lost.", Value: BoolValue()},
	)
	return NewForm("A file.",
		Key{Name: "items", Doc: "Some.", Value: ListOf(FormValue(item))},
		Key{Name: "paths", Doc: "One or many.", Value: OneOrMany(TextValue())},
		Key{Name: "object", Doc: "Anything.", Value: EitherOf(TextValue(), MapValue())},
		Key{Name: "many", Doc: "By name.", Value: EntriesOf(NumberValue(0))},
		Key{Name: "patch", Doc: "A list, or nothing.", Value: EitherOf(ListValue(), NullValue())},
	).Means("entries", "items")
}

func TestFormReads(t *testing.T) {
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
	got, err := testForm().Read(Source{"x.yaml", []byte(file)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"items": []any{
			map[string]any{"name": "a", "times": int64(2), "after": "90s", "error": "Conflict", "lost": true},
			map[string]any{"name": "${b}", "times": int64(2), "after": "90s", "error": "Conflict", "lost": true},
		},
		"paths":  []any{"one"},
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

// TestFormRefuses has the whole report on each mistake.
func TestFormRefuses(t *testing.T) {
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
		{"# nothing", "x.yaml:1:1: file holds nothing"},
		{"object: !a {}", "x.yaml:1:9: YAML reads \"!a\" as a tag, and tags have no meaning here (write '!a {}')"},
		{"\tobject: a", "x.yaml:1:1: not valid YAML: found character that cannot start any token (indent with spaces, YAML forbids tabs)"},
	} {
		_, err := testForm().Read(Source{"x.yaml", []byte(c.file)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\nwant: %s\ngot:  %v", c.file, c.want, err)
		}
	}
}

// TestFormSchema holds the JSON Schema of a form against what Read takes.
func TestFormSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(testForm().JSONSchema("a test")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("form.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("form.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		"items: [{name: a, times: 1, after: 10s, error: Conflict, lost: false}]", "paths: a", "paths: [a, b]", "object: {}", "object: a",
		"many: {a: 0}", "patch:", "patch: [1]",
	} {
		if isYAML, err := judge(s, []Source{{"x.yaml", []byte(file)}}); !isYAML || err != nil {
			t.Errorf("%s: is right, but: %v", file, err)
		}
	}
	for _, file := range []string{
		"itms: []", "items: [{}]", "items: [{name: ''}]", "items: [{name: a, times: 0}]", "items: [{name: a, after: 10}]",
		"items: [{name: a, error: X}]", "items: [{name: a, lost: 1}]", "paths: [1]", "object: [1]", "many: {a: -1}", "patch: a",
	} {
		if isYAML, err := judge(s, []Source{{"x.yaml", []byte(file)}}); !isYAML || err == nil {
			t.Errorf("%s: is wrong, but accepted", file)
		}
	}
	if got := strings.Join(testForm().Undescribed(), " "); got != "" {
		t.Errorf("without a description: %s", got)
	}
	if got := strings.Join(NewForm("", Key{Name: "a", Value: FormValue(NewForm("", Key{Name: "b", Value: TextValue()}))}).Undescribed(), " "); got != "a a.b" {
		t.Errorf("without a description: %s", got)
	}
}
