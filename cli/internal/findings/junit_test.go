package findings

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDocument holds the reports of JUnit against the schema of Jenkins.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("testdata/junit-4.xsd")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, suites := range [][]Suite{nil, {
		{Name: "a&b.yaml", Cases: []Case{{Name: "fails", Took: 83 * time.Minute, Failures: hostile}, {Name: "passes"}}},
		{Name: "empty.yaml"},
	}} {
		text, err := Document(suites)
		if err != nil {
			t.Fatal(err)
		}
		report, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		for _, wrong := range schema.violations(t, report) {
			t.Errorf("%s in\n%s", wrong, text)
		}
		if got := len(report.children); got != len(suites) {
			t.Errorf("%d suites in\n%s", got, text)
		}
	}
}

// TestSchemaFindsMistakes checks the checks of TestDocument.
func TestSchemaFindsMistakes(t *testing.T) {
	text, err := os.ReadFile("testdata/junit-4.xsd")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for report, want := range map[string]string{
		`<tests/>`:                             "unknown element tests",
		`<testsuites count="1"/>`:              "testsuites: unknown attribute count",
		`<testsuite name="a"/>`:                "testsuite: missing attribute tests",
		`<testsuites><testcase/></testsuites>`: "testsuites: unexpected element testcase",
		`<testsuites>text</testsuites>`:        "testsuites: unexpected text",
		`<testsuite name="a" tests="1"><system-out/><testcase name="b"/></testsuite>`: "testsuite: unexpected element testcase",
		`<properties/>`: "properties: missing element property",
	} {
		node, err := parse(report)
		if err != nil {
			t.Fatal(err)
		}
		if got := schema.violations(t, node); !slices.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", report, got, want)
		}
	}
}

// A node is an element of a document.
type node struct {
	name     string
	attrs    map[string]string
	children []*node
	text     string
}

// parse returns the root of a document.
func parse(document string) (*node, error) {
	open := []*node{{}}
	for d := xml.NewDecoder(strings.NewReader(document)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return open[0].children[0], nil
		}
		if err != nil {
			return nil, err
		}
		parent := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			parent.children = append(parent.children, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			parent.text += string(token)
		}
	}
}

// named returns the first child with a name.
func (n *node) named(name string) *node {
	i := slices.IndexFunc(n.children, func(c *node) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return n.children[i]
}

// violations returns how a report differs from a schema. It knows the parts of XML
// Schema that the schema of JUnit has: elements with a sequence of other elements,
// texts, and attributes. It fails the test if the schema has others.
func (n *node) violations(t *testing.T, report *node) (wrong []string) {
	t.Helper()
	i := slices.IndexFunc(n.children, func(c *node) bool { return c.name == "element" && c.attrs["name"] == report.name })
	if i < 0 {
		return []string{"unknown element " + report.name}
	}
	say := func(what string) { wrong = append(wrong, report.name+": "+what) }
	complexType := n.children[i].named("complexType")
	if complexType == nil { // A text.
		complexType = &node{attrs: map[string]string{"mixed": "true"}}
	}
	if strings.TrimSpace(report.text) != "" && complexType.attrs["mixed"] != "true" {
		say("unexpected text")
	}
	attributes, left := map[string]bool{}, report.children
	for _, part := range complexType.children {
		switch part.name {
		case "attribute":
			name := part.attrs["name"]
			attributes[name] = true
			if _, has := report.attrs[name]; !has && part.attrs["use"] == "required" {
				say("missing attribute " + name)
			}
		case "sequence":
			for _, element := range part.children {
				var missing bool
				if left, missing = element.take(t, left); missing {
					say("missing element " + element.attrs["ref"])
				}
			}
		default:
			t.Fatalf("the schema has %s, which this test does not know", part.name)
		}
	}
	for name := range report.attrs {
		if !attributes[name] {
			say("unknown attribute " + name)
		}
	}
	if len(left) > 0 {
		say("unexpected element " + left[0].name)
	}
	for _, c := range report.children {
		wrong = append(wrong, n.violations(t, c)...)
	}
	return wrong
}

// take takes as many elements from the beginning as this part of a sequence allows. It
// reports whether that is too few.
func (n *node) take(t *testing.T, elements []*node) (left []*node, missing bool) {
	t.Helper()
	if n.name != "element" || n.attrs["ref"] == "" {
		t.Fatalf("the schema has %s %v in a sequence, which this test does not know", n.name, n.attrs)
	}
	bound := func(name string) int {
		switch text := n.attrs[name]; text {
		case "":
			return 1
		case "unbounded":
			return len(elements)
		default:
			number, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return number
		}
	}
	taken := 0
	for taken < min(bound("maxOccurs"), len(elements)) && elements[taken].name == n.attrs["ref"] {
		taken++
	}
	return elements[taken:], taken < bound("minOccurs")
}
