package reference

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// hostile is text that would end a cell, a row, code or an element.
const hostile = "a | b <script>alert(1)</script> `c | d` *e* [f](javascript:g) ``` \\ </style> &amp; \"q\" 'r'"

// hostilePages has it wherever a CRD or rules have text.
func hostilePages() []*Page {
	s := spec.Schema{}
	s.Description, s.Pattern, s.Enum, s.Default = hostile+"\n\n# h\n- i", hostile, []any{hostile}, hostile
	title := Section{Title: compose("X ", code(hostile)), Level: 2, Blocks: []Block{
		specTable([]field{{path: "spec." + hostile, schema: &s}}),
		paragraph("# ", hostile),
		{Text: prose(hostile)},
		{YAML: "a: |\n  " + hostile + "\n"},
	}}
	return []*Page{{Kind: "Kind", Group: "example.com", Sections: []Section{{Title: compose("Kind"), Level: 1}, title}}}
}

// TestMarkdownShowsHostileText requires a cell for each column, and nothing that begins
// another element.
func TestMarkdownShowsHostileText(t *testing.T) {
	text := string(Markdown(hostilePages()))
	bars := regexp.MustCompile(`(^|[^\\])\|`)
	rows := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if rows++; len(bars.FindAllString(line, -1)) != 7 {
			t.Errorf("a row does not have six cells: %s", line)
		}
	}
	if rows != 3 {
		t.Errorf("the table has %d lines:\n%s", rows, text)
	}
	body, fenced, _ := strings.Cut(text, "````yaml\n")
	if want := "a: |\n  " + hostile + "\n````\n"; fenced != want {
		t.Errorf("got %q, want %q", fenced, want)
	}
	body = withoutCode(body)
	for _, wrong := range []string{"<script", "[f](", "\n# # ", "</style"} {
		if strings.Contains(body, wrong) {
			t.Errorf("%q is not escaped:\n%s", wrong, body)
		}
	}
	if !strings.Contains(body, "\n\\# ") {
		t.Errorf("a paragraph begins a heading:\n%s", body)
	}
}

// withoutCode returns Markdown without its spans of code, each of which ends with as many
// backticks as it begins with.
func withoutCode(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		if text[0] == '\\' && len(text) > 1 {
			b.WriteString(text[:2])
			text = text[2:]
			continue
		}
		run := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		end := regexp.MustCompile("[^`]" + run + "(?:[^`]|$)").FindStringIndex(text[len(run):])
		if run == "" || end == nil {
			b.WriteString(text[:max(1, len(run))])
			text = text[max(1, len(run)):]
			continue
		}
		text = text[len(run)+end[0]+1+len(run):]
	}
	return b.String()
}

func TestBarsInCodeStayInTheirCell(t *testing.T) {
	for text, want := range map[string]string{
		"a|b":   "| `a\\|b` |\n",
		`a\|b_`: "| <code>a&#92;&#124;b&#95;</code> |\n",
	} {
		var b strings.Builder
		if writeRow(&b, []Text{code(text)}); b.String() != want {
			t.Errorf("%s: got %q, want %q", text, b.String(), want)
		}
	}
}
