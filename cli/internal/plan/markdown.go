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
	if len(r.Kinds) == 0 {
		b.WriteString("\n**No object changes.**\n")
	} else {
		b.WriteString("\n")
		for i, row := range r.cells() {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
	}
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n**%s**\n\n", title)
			for _, line := range lines {
				fmt.Fprintf(&b, "- %s\n", quoteMarkdown(line))
			}
		}
	}
	list("⚠️ Held until approved", r.held())
	list("Conditions", conditionLines(r.Conditions))
	if p := r.Permissions; p != nil {
		list("Permissions to add", p.Added)
		list("Permissions no longer needed, once the cleanup is done", p.Removed)
	}
	list("New kinds", r.NewKinds)
	r.markdownGroups(&b, "⚠️ Risks", r.Risks, mostRisky)
	r.markdownGroups(&b, "Other changes", r.Changes, mostNames)
	r.markdownGroups(&b, "Waits or fails", r.Pending, mostNames)
	list("Notes", r.notes())
	list("Unknown", r.Unknown)
	list("Errors: the plan is incomplete", r.Errors)
	return b.Bytes()
}

// markdownGroups writes groups, until the report becomes too long.
func (r *Report) markdownGroups(b *bytes.Buffer, title string, groups []*Group, names int) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s**\n\n", title)
	shown, rest := firstGroups(groups)
	for i, g := range shown {
		if b.Len() > mostMarkdown {
			rest = fmt.Sprintf("and %d more groups: see -o json", len(groups)-i)
			break
		}
		fmt.Fprintf(b, "- %s: %s\n", quoteMarkdown(g.title()), quoteMarkdown(firstNames(g.Objects, names)))
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

var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "|", `\|`, "[", `\[`, "]", `\]`, "@", "@\u200b", "#", `\#`)

// quoteMarkdown returns a text without markup: names and values come from users.
func quoteMarkdown(text string) string { return markdown.Replace(text) }
