package change

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"reconcel/cli/internal/output"
	"reconcel/internal/yamltext"
)

// Unified returns the differences as text, for people and for patch.
func Unified(all []Change) []byte {
	var b bytes.Buffer
	for i := range all {
		c := &all[i]
		if !c.Action.IsDifference() {
			continue // It is in the notes.
		}
		fmt.Fprintf(&b, "# %s\n", output.Printable(c.title()))
		live, wanted := c.headers()
		fmt.Fprintf(&b, "diff -u %s %s\n", live, wanted)
		b.WriteString(c.Diff)
	}
	return b.Bytes()
}

// title returns the line above a diff.
func (c *Change) title() string {
	title := c.subject() + ": " + string(c.Action)
	if c.Reason != "" {
		title += " (" + c.Reason + ")"
	}
	return title
}

// subject names the rule, the child and the part of a change, as far as it has them: the
// rule that has written a status may be gone.
func (c *Change) subject() string {
	var about []string
	if c.Rule != "" {
		about = append(about, fmt.Sprintf("rule %q", c.Rule))
	}
	if c.Child != "" {
		about = append(about, fmt.Sprintf("child %q", c.Child))
	}
	if c.Part != "" {
		about = append(about, string(c.Part))
	}
	if len(about) == 0 {
		return c.Primary.String()
	}
	return c.Primary.String() + ": " + strings.Join(about, ", ")
}

// subjectAndObject is the subject for lines without the header of a diff.
func (c *Change) subjectAndObject() string {
	subject := c.subject()
	if c.Child != "" && c.Object.Name != "" {
		subject += " (" + c.Object.String() + ")"
	}
	return subject
}

func (c *Change) headers() (live, wanted string) {
	path := c.Object.String()
	if c.Part == StatusPart {
		path += "/status"
	}
	return "live/" + path, "rules/" + path
}

// manyLines is the length from which on the diff ignores frequent lines when it
// looks for common ones. This takes less time, but the diff may be longer than
// necessary.
const manyLines = 5000

// Print sets the diffs of the changes.
func (p *Primary) Print() {
	for i := range p.Changes {
		c := &p.Changes[i]
		if err := c.Print(); err != nil {
			p.fail(c, err)
		}
	}
}

// Print sets the unified diff of Before and After, as diff -u prints it.
func (c *Change) Print() error {
	if c.Before == nil && c.After == nil {
		return nil
	}
	before, err := yamlLines(c.Before)
	if err != nil {
		return err
	}
	after, err := yamlLines(c.After)
	if err != nil {
		return err
	}
	var b strings.Builder
	write := func(mark string, lines []string) {
		for _, line := range lines {
			b.WriteString(mark + line)
		}
	}
	live, wanted := c.headers()
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", live, wanted)
	for _, group := range difflib.NewMatcherWithJunk(before, after, len(before) > manyLines, nil).GetGroupedOpCodes(3) {
		first, last := group[0], group[len(group)-1]
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", hunkRange(first.I1, last.I2), hunkRange(first.J1, last.J2))
		for _, code := range group {
			if code.Tag == 'e' {
				write(" ", before[code.I1:code.I2])
				continue
			}
			write("-", before[code.I1:code.I2])
			write("+", after[code.J1:code.J2])
		}
	}
	c.Diff = b.String()
	return nil
}

// hunkRange prints a range of lines as diff does.
func hunkRange(start, stop int) string {
	switch n := stop - start; n {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	default:
		return fmt.Sprintf("%d,%d", start+1, n)
	}
}

// yamlLines returns the lines of an object, or nil without an object.
func yamlLines(object map[string]any) ([]string, error) {
	if object == nil {
		return nil, nil
	}
	text, err := yamltext.Marshal(object)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	return lines[:len(lines)-1], nil // YAML ends with a line break.
}

// Colour adds the colours of a terminal to a unified diff.
func Colour(text []byte) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(text)) {
		code := ""
		switch {
		case strings.HasPrefix(line, "# "), strings.HasPrefix(line, "diff -u "),
			strings.HasPrefix(line, "--- live/"), strings.HasPrefix(line, "+++ rules/"):
			code = output.Bold
		case strings.HasPrefix(line, "@@ "):
			code = output.Cyan
		case strings.HasPrefix(line, "-"):
			code = output.Red
		case strings.HasPrefix(line, "+"):
			code = output.Green
		}
		if code != "" {
			line = code + strings.TrimSuffix(line, "\n") + output.Normal + "\n"
		}
		b.WriteString(line)
	}
	return b.Bytes()
}
