package reference

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// Markdown returns pages as one document that GitHub renders.
func Markdown(pages []*Page) []byte {
	var b strings.Builder
	if len(pages) > 1 {
		for _, p := range pages {
			fmt.Fprintf(&b, "- [%s](#%s)\n", inline(compose(p.Kind)), slug(p.Kind))
		}
		b.WriteByte('\n')
	}
	for i, p := range pages {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, s := range p.Sections {
			if j > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s %s\n", strings.Repeat("#", s.Level), inline(s.Title))
			for _, block := range s.Blocks {
				b.WriteByte('\n')
				writeMarkdown(&b, block)
			}
		}
	}
	return []byte(b.String())
}

func writeMarkdown(b *strings.Builder, block Block) {
	switch {
	case block.Table != nil:
		writeTable(b, block.Table)
	case block.YAML != "":
		fence := strings.Repeat("`", max(3, longestRun(block.YAML)+1))
		fmt.Fprintf(b, "%syaml\n%s%s\n", fence, block.YAML, fence)
	default:
		b.WriteString(leading.ReplaceAllString(inline(block.Text), `$1\$2`) + "\n")
	}
}

// leading matches what would begin a heading or a list.
var leading = regexp.MustCompile(`(?m)^( *(?:[0-9]+)?)([#+\-.)=])`)

// writeTable writes a table. GitHub requires a row of titles, which may be empty.
func writeTable(b *strings.Builder, t *Table) {
	titles := make([]Text, len(t.Titles))
	for i, title := range t.Titles {
		titles[i] = compose(title)
	}
	if len(titles) == 0 {
		titles = make([]Text, 2)
	}
	writeRow(b, titles)
	b.WriteString(strings.Repeat("|---", len(titles)) + "|\n")
	for _, row := range t.Rows {
		writeRow(b, row)
	}
}

func writeRow(b *strings.Builder, cells []Text) {
	for _, cell := range cells {
		b.WriteString("|")
		// A bar ends a cell, also within code.
		if text := strings.ReplaceAll(render(cell, codeInCell), "|", `\|`); text != "" {
			b.WriteString(" " + text)
		}
		b.WriteString(" ")
	}
	b.WriteString("|\n")
}

// inline returns a text on one line.
func inline(t Text) string { return render(t, codeSpan) }

func render(t Text, codeOf func(string) string) string {
	var b strings.Builder
	for _, s := range t {
		switch s.Style {
		case Code:
			b.WriteString(codeOf(s.Text))
		case Strong:
			b.WriteString("**" + escape(s.Text) + "**")
		case Break:
			b.WriteString("<br>")
		case Plain:
			b.WriteString(escape(s.Text))
		}
	}
	return b.String()
}

// codeSpan quotes code with more backticks than it contains. Empty code has no form.
func codeSpan(text string) string {
	text = oneLine(text)
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// codeInCell quotes code in a cell. No escape shows a backslash before a bar there.
func codeInCell(text string) string {
	if !strings.Contains(text, `\|`) {
		return codeSpan(text)
	}
	var b strings.Builder
	for _, r := range oneLine(text) {
		if strings.ContainsRune("\\`*_[]~|<>&", r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return "<code>" + b.String() + "</code>"
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) (longest int) {
	run := 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// special matches characters with a meaning in a line of Markdown. A bar is escaped where
// it has one: in a table.
var special = regexp.MustCompile("[\\\\`*_\\[\\]~]")

// escape returns plain text as Markdown that shows it. An underscore within a word has no
// meaning.
func escape(text string) string {
	text = html.EscapeString(broken.ReplaceAllString(text, " "))
	text = strings.NewReplacer("&#39;", "'", "&#34;", `"`).Replace(text)
	return special.ReplaceAllString(text, `\$0`)
}

var notInSlug = regexp.MustCompile(`[^a-z0-9 _-]`)

// slug returns the anchor that GitHub gives to a heading.
func slug(heading string) string {
	return strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
