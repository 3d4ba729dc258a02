package reference

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// A Markdown is a text in GitHub's Markdown. Only Text and Code turn other texts into it.
type Markdown string

// A Text is printed as Markdown that shows it as it is.
type Text string

// A Code is printed as Markdown that shows it as it is, on one line, as code.
type Code string

// formatf composes Markdown. The arguments are of the types of this file, or constants.
func formatf(format string, args ...any) Markdown { return Markdown(fmt.Sprintf(format, args...)) }

func code(text string) Markdown { return Markdown(Code(text).String()) }

// enumerate joins texts as a sentence does: a, b and c.
func enumerate[T any](word string, all []T) (out Markdown) {
	for i, one := range all {
		switch {
		case i == 0:
		case i == len(all)-1:
			out += Markdown(" " + word + " ")
		default:
			out += ", "
		}
		out += formatf("%v", one)
	}
	return out
}

var (
	// special matches characters with a meaning in a line. row escapes bars.
	special = regexp.MustCompile("[\\\\`*_\\[\\]~$]")
	// leading matches what would begin a heading or a list.
	leading = regexp.MustCompile(`^( *[0-9]*)([#+\-.)=])`)
	// broken matches a line break with the white space around it.
	broken = regexp.MustCompile(`\s*[\n\r]\s*`)
)

// String returns the Markdown.
func (t Text) String() string {
	text := html.EscapeString(broken.ReplaceAllString(string(t), " "))
	text = strings.NewReplacer("&#39;", "'", "&#34;", `"`).Replace(text)
	return leading.ReplaceAllString(special.ReplaceAllString(text, `\$0`), `$1\$2`)
}

// String returns the Markdown. Empty code has no form.
func (c Code) String() string {
	text := broken.ReplaceAllString(strings.TrimSpace(string(c)), " ")
	switch {
	case text == "":
		return ""
	case strings.Contains(text, `\|`): // No escape shows it in a table.
		return "<code>" + entities.ReplaceAllStringFunc(text, entityOf) + "</code>"
	case text[0] == '`' || text[len(text)-1] == '`':
		text = " " + text + " "
	}
	fence := fenceOf(text, 1)
	return fence + text + fence
}

func entityOf(character string) string { return fmt.Sprintf("&#%d;", character[0]) }

var entities = regexp.MustCompile("[\\\\`*_\\[\\]~|<>&$]")

// fenceOf returns backticks around a code: more than it has in a row, and at least some.
func fenceOf(code string, least int) string {
	fence := strings.Repeat("`", least)
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence
}

// row returns a row of a table.
func row(cells ...any) (out Markdown) {
	for _, cell := range cells {
		out += Markdown("| " + strings.ReplaceAll(fmt.Sprint(cell), "|", `\|`) + " ")
	}
	return out + "|"
}

var (
	// quoted matches what descriptions write in backticks.
	quoted = regexp.MustCompile("`[^`]+`")
	// begins matches what begins a line in a description: an empty line, or an item of a list.
	begins = regexp.MustCompile(`\s*\n(?:\s*\n\s*|\s*([-*]|[0-9]+[.)])(\s))`)
)

// prose returns a description of a CRD. Most of its line breaks are those of the source code
// that it comes from.
func prose(description string) (out Markdown) {
	for i, line := range strings.Split(begins.ReplaceAllString(strings.TrimSpace(description), "\x00$1$2"), "\x00") {
		if i > 0 {
			out += "<br>"
		}
		at := 0
		for _, span := range quoted.FindAllStringIndex(line, -1) {
			out += formatf("%v%v", Text(line[at:span[0]]), Code(line[span[0]+1:span[1]-1]))
			at = span[1]
		}
		out += formatf("%v", Text(line[at:]))
	}
	return out
}
