package findings

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reconcel/cli/internal/output"
	"reconcel/rules/source"
)

// hostile are findings with characters that have a meaning in one of the formats.
var hostile = source.Errors{
	{Pos: source.Pos{File: "rules dir/a,b:c.yaml", Line: 3, Column: 7}, Rule: "web", Message: "100 % of <this> & \"that\"\nis wrong", Hint: "write ]]>", Check: "literal-name"},
	{Pos: source.Pos{File: "/tmp/x.yaml"}, Severity: source.SeverityWarning, Message: "no line, and a \x01 character"},
	{Pos: source.Pos{File: "<stdin>", Line: 1, Column: 1}, Severity: source.SeverityNote, Message: "a note"},
	{Severity: source.SeverityWarning, Message: "no file"},
}

// TestLog holds the SARIF output against the schema of OASIS.
func TestLog(t *testing.T) {
	c := jsonschema.NewCompiler()
	f, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	const name = "https://example.com/sarif.json"
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range []source.Errors{nil, hostile} {
		text, err := output.JSON(Log("v1.2.3", all))
		if err != nil {
			t.Fatal(err)
		}
		log, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(log); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

func TestAnnotations(t *testing.T) {
	want := "::error file=rules dir/a%2Cb%3Ac.yaml,line=3,col=7,title=literal-name::rule \"web\": 100 %25 of <this> & \"that\"%0Ais wrong (write ]]>) [literal-name]\n" +
		"::warning file=/tmp/x.yaml::no line, and a \x01 character\n" +
		"::notice file=<stdin>,line=1,col=1::a note\n" +
		"::warning::no file\n"
	if got := string(Annotations(hostile)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
