package explain

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"reconcel/docs"
)

// Page describes a function or a check, all functions (functions) or all checks (checks). It returns nil for another
// word.
func Page(word string) []byte {
	var b bytes.Buffer
	switch word {
	case "functions":
		writeRows(&b, docs.Functions, 4)
	case "checks":
		writeRows(&b, docs.Checks, 3)
	default:
		describeFunctions(&b, word)
		describeCheck(&b, word)
	}
	return b.Bytes()
}

// writeRows prints the rows of a page with a number of cells, below the headings of their tables.
func writeRows(b *bytes.Buffer, page string, cells int) {
	heading, shown := "", ""
	for line := range strings.Lines(page) {
		if title, is := strings.CutPrefix(strings.TrimSpace(line), "## "); is {
			heading = title
		}
		row := cellsOf(line)
		if len(row) != cells || !strings.Contains(row[0], "`") {
			continue
		}
		if heading != shown {
			fmt.Fprintf(b, "\n%s:\n", strings.ToUpper(heading))
			shown = heading
		}
		fmt.Fprintf(b, "  %s\n", plainText(row[0]))
		if row[1] != "" {
			wrap(b, "    ", plainText(row[1]))
		}
	}
}

// describeFunctions prints the rows of the functions with a name.
func describeFunctions(b *bytes.Buffer, name string) {
	called := regexp.MustCompile("(^|[`.])" + regexp.QuoteMeta(name) + `\(`)
	for line := range strings.Lines(docs.Functions) {
		row := cellsOf(line)
		if len(row) != 4 || !called.MatchString(row[0]) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "FUNCTION: %s\n\n", plainText(row[0]))
		if row[1] != "" {
			b.WriteString("DESCRIPTION:\n")
			wrap(b, "    ", plainText(row[1]))
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "EXAMPLE:\n    %s\n    gives %s\n", plainText(row[2]), plainText(row[3]))
	}
}

// describeCheck prints what the page says of a check.
func describeCheck(b *bytes.Buffer, name string) {
	inside := false
	for line := range strings.Lines(docs.Checks) {
		row := cellsOf(line)
		switch title, isTitle := strings.CutPrefix(strings.TrimSpace(line), "## "); {
		case len(row) == 3 && strings.HasPrefix(row[0], "[`"+name+"`]"):
			fmt.Fprintf(b, "CHECK: %s <%s>\n\nDESCRIPTION:\n", name, row[2])
			wrap(b, "    ", plainText(row[1]))
		case isTitle:
			inside = title == name
		case inside:
			b.WriteString(strings.TrimRight("    "+links.ReplaceAllString(line, "$1"), " \n") + "\n")
		}
	}
}

// cellsOf returns the cells of a row of a table.
func cellsOf(line string) (cells []string) {
	line, isRow := strings.CutPrefix(strings.TrimSpace(line), "| ")
	if !isRow {
		return nil
	}
	line = strings.ReplaceAll(strings.TrimSuffix(line, "|"), `\|`, "\x00")
	for cell := range strings.SplitSeq(line, "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|")))
	}
	return cells
}

var links = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)

// plainText returns Markdown as text.
func plainText(markdown string) string {
	return strings.TrimSpace(strings.NewReplacer("`` ", "", " ``", "", "``", "", "`", "").Replace(
		links.ReplaceAllString(markdown, "$1")))
}
