package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestComparison checks what the page says about reconcel: its words are those of the language, and the figures are
// those of the benchmark's page.
func TestComparison(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, schema := read("../../docs/comparison.md"), read("../../docs/rules.schema.json")
	_, words, _ := strings.Cut(page, "\n## Words\n")
	words, _, _ = strings.Cut(words, "\n## ")
	found := 0
	for line := range strings.Lines(words) {
		for _, word := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.Split(line+"||", "|")[1], -1) {
			found++
			if !strings.Contains(schema, `"`+word[1]+`": {`) && word[1] != "self" {
				t.Errorf("%s is no key of the rules", word[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d words were found", found)
	}

	results := figures(read("../../docs/contributing/performance.md"), "| 1,000 Foos |")
	columns := figures(page, "| | reconcel | kro | Metacontroller |")
	for name, row := range columns {
		of := results[name]
		if len(of) != 6 {
			t.Errorf("the benchmark has no %q", name)
			continue
		}
		if want := []string{of[3], of[4], of[5]}; strings.Join(row, " ") != strings.Join(want, " ") {
			t.Errorf("%s: the benchmark has %v, not %v", name, want, row)
		}
	}
	if len(columns) < 3 {
		t.Errorf("only %d figures were found", len(columns))
	}
}

// figures returns the rows of the table with this heading, by their first cell.
func figures(page, heading string) map[string][]string {
	rows := map[string][]string{}
	_, table, _ := strings.Cut(page, heading)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(rows) > 0 && len(cells) < 2:
			return rows
		case len(cells) > 1 && !strings.HasPrefix(cells[0], "-"):
			rows[cells[0]] = cells[1:]
		}
	}
	return rows
}
