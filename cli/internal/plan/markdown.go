package plan

import (
	"bytes"
	"fmt"
	"strings"
)

// mostMarkdown is how long a comment of a pull request may be, with some room for a heading.
const mostMarkdown = 60_000

// Markdown returns the report for a pull request.
func (r *Report) Markdown() []byte {
	var b bytes.Buffer
	b.WriteString("### Plan of the rules\n\n")
	fmt.Fprintf(&b, "Compared with %s.  \n", r.Against)
	if r.Rules != nil {
		fmt.Fprintf(&b, "Rules: %s.  \n", r.Rules)
	}
	fmt.Fprintf(&b, "Resources: %s.\n", r.Resources)
	switch {
	case !r.Differs():
		b.WriteString("\n**No object changes.**\n")
	case len(r.Kinds) > 0:
		b.WriteString("\n")
		for i, row := range r.cells() {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
	}
	for _, s := range r.sections() {
		if s.risky {
			s.title = "⚠️ " + s.title
		}
		if len(s.lines)+len(s.groups) > 0 {
			fmt.Fprintf(&b, "\n**%s**\n\n", s.title)
		}
		for _, line := range s.lines {
			fmt.Fprintf(&b, "- %s\n", quoteMarkdown(line))
		}
		s.writeMarkdown(&b)
	}
	return b.Bytes()
}

// writeMarkdown writes groups, until the report becomes too long.
func (s *section) writeMarkdown(b *bytes.Buffer) {
	shown, rest := firstGroups(s.groups)
	for i, g := range shown {
		if b.Len() > mostMarkdown {
			rest = fmt.Sprintf("and %d more groups: see -o json", len(s.groups)-i)
			break
		}
		fmt.Fprintf(b, "- %s: %s\n", quoteMarkdown(g.title()), quoteMarkdown(firstNames(g.Objects, s.names)))
		for _, line := range g.lines() {
			fmt.Fprintf(b, "  - %s\n", quoteMarkdown(line))
		}
		if g.Diff != "" && b.Len()+len(g.Diff) < mostMarkdown {
			b.WriteString("\n  <details><summary>the first one</summary>\n\n  ```diff\n")
			writeIndented(b, "  ", strings.ReplaceAll(g.Diff, "```", "'''"))
			b.WriteString("  ```\n\n  </details>\n\n")
		}
	}
	if rest != "" {
		fmt.Fprintf(b, "- %s\n", rest)
	}
}

var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "|", `\|`,
	"[", `\[`, "]", `\]`, "@", "@\u200b", "#", `\#`)

// quoteMarkdown returns a text without markup: names and values come from users.
func quoteMarkdown(text string) string { return markdown.Replace(text) }
