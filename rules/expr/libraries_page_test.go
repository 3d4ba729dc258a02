package expr

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	codeSpans  = regexp.MustCompile("`([^`]+)`")
	calledName = regexp.MustCompile(`(?:\b[a-z]+\.)?\b[a-zA-Z]\w*\(`)
)

// TestLibrariesPage compares what docs/contributing/cel-libraries.md says of functions with
// the declared ones.
func TestLibrariesPage(t *testing.T) {
	b, err := base()
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{"cel.bind": true}
	for name := range b.declared {
		declared[name] = true
	}
	for _, m := range b.env.Macros() {
		declared[m.Function()] = true
	}
	page, err := os.ReadFile("../../docs/contributing/cel-libraries.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for i, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		cells := cellsOf(line)
		if len(cells) != 3 {
			t.Errorf("cel-libraries.md:%d: has %d cells", i+1, len(cells))
			continue
		}
		answers := map[string]bool{"yes": true, "other form": true, "other result": true, "no": false}
		has, known := answers[cells[1]]
		if !known {
			t.Errorf("cel-libraries.md:%d: %q is no answer", i+1, cells[1])
		}
		for _, span := range codeSpans.FindAllStringSubmatch(cells[0], -1) {
			if declared[span[1]] != has {
				t.Errorf("cel-libraries.md:%d: %s: %s", i+1, span[1], cells[1])
			}
		}
		for _, span := range codeSpans.FindAllStringSubmatch(cells[2], -1) {
			for _, call := range calledName.FindAllString(span[1], -1) {
				name := strings.TrimSuffix(call, "(")
				_, method, _ := strings.Cut(name, ".")
				if !declared[name] && !declared[method] {
					t.Errorf("cel-libraries.md:%d: %s is no function", i+1, name)
				}
			}
		}
	}
	if rows < 35 {
		t.Errorf("the page has only %d rows", rows)
	}
}
