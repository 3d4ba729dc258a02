package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"reconcel/cli/internal/output"
	"reconcel/engine/outcome"
)

// Limits of a report for people. -o json has everything.
const (
	mostNames = 3  // of the objects of a group
	mostRisky = 20 // of the objects of a risk
	mostShown = 30 // groups of other changes
)

// A section of a report for people has lines or groups.
type section struct {
	title  string
	lines  []string
	groups []*Group
	names  int  // of the objects of a group
	risky  bool // a text has all groups, and a comment warns
}

// sections returns the sections of a report. Some may be empty.
func (r *Report) sections() []section {
	var p Permissions
	if r.Permissions != nil {
		p = *r.Permissions
	}
	var held []string
	for _, h := range r.Held {
		held = append(held, h.Message)
	}
	return []section{
		{title: "Held until approved", lines: held, risky: true},
		{title: "Conditions", lines: conditionLines(r.Conditions)},
		{title: "Permissions to add", lines: p.Added},
		{title: "Permissions no longer needed, once the cleanup is done", lines: p.Removed},
		{title: "New kinds", lines: r.NewKinds},
		{title: "Risks", groups: r.Risks, names: mostRisky, risky: true},
		{title: "Other changes", groups: r.Changes, names: mostNames},
		{title: "Waits or fails", groups: r.Pending, names: mostNames},
		{title: "Notes", lines: r.notes()},
		{title: "Unknown", lines: r.Unknown},
		{title: "Errors: the plan is incomplete", lines: r.Errors},
	}
}

// Text returns the report for a terminal.
func (r *Report) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Compared with %s\n", r.Against)
	if r.Rules != nil {
		fmt.Fprintf(&b, "Rules: %s\n", r.Rules)
	}
	fmt.Fprintf(&b, "Resources: %s\n", r.Resources)
	if len(r.Kinds) > 0 {
		b.WriteString("\n")
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range r.cells() {
			_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
		}
		_ = table.Flush() // A buffer never fails.
	}
	for _, s := range r.sections() {
		if len(s.lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", s.title, strings.Join(s.lines, "\n  "))
		}
		if len(s.groups) > 0 {
			s.write(&b)
		}
	}
	return b.Bytes()
}

// write writes groups with their fields, and the names of the first objects.
func (s *section) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n%s\n", s.title)
	shown, rest := s.groups, ""
	if !s.risky {
		shown, rest = firstGroups(s.groups)
	}
	for _, g := range shown {
		fmt.Fprintf(b, "  %s\n", g.title())
		for _, line := range append(g.lines(), firstNames(g.Objects, s.names)) {
			fmt.Fprintf(b, "      %s\n", line)
		}
		writeIndented(b, "    ", g.Diff)
	}
	if rest != "" {
		fmt.Fprintf(b, "  %s\n", rest)
	}
}

// notes returns the notes, and the number of changes that are not part of the plan.
func (r *Report) notes() []string {
	if r.Already == 0 {
		return r.Notes
	}
	return append([]string{fmt.Sprintf("%s not counted: the running rules have the same result (see reconcel diff)",
		output.Plural(r.Already, "change"))}, r.Notes...)
}

// String returns the numbers of primaries.
func (r Resources) String() string {
	return fmt.Sprintf("%d of %d change, %d are reconciled", r.Changed, r.Watched, r.Reconciled)
}

// columns are the columns of the table of kinds.
var columns = []struct {
	action outcome.Action
	of     func(*KindCount) *int
}{
	{outcome.Created, func(k *KindCount) *int { return &k.Created }},
	{outcome.Configured, func(k *KindCount) *int { return &k.Configured }},
	{outcome.Replaced, func(k *KindCount) *int { return &k.Replaced }},
	{outcome.Adopted, func(k *KindCount) *int { return &k.Adopted }},
	{outcome.Deleted, func(k *KindCount) *int { return &k.Deleted }},
	{orphaned, func(k *KindCount) *int { return &k.Orphaned }},
	{"status", func(k *KindCount) *int { return &k.Status }},
}

// cells returns the table of kinds, with its header.
func (r *Report) cells() [][]string {
	header := []string{"KIND"}
	for _, c := range columns {
		header = append(header, strings.ToUpper(string(c.action)))
	}
	rows := [][]string{header}
	for _, k := range r.Kinds {
		row := []string{k.Kind + " (" + k.APIVersion + ")"}
		for _, c := range columns {
			row = append(row, fmt.Sprint(*c.of(k)))
		}
		rows = append(rows, row)
	}
	return rows
}

func conditionLines(all []ConditionChange) (lines []string) {
	for _, c := range all {
		what := cmp.Or(c.Before, "none") + " → " + cmp.Or(c.After, "none")
		if c.Before == c.After {
			what = c.After + ", another reason or message"
		}
		lines = append(lines, fmt.Sprintf("%s of %d %s: %s", c.Type, c.Count, c.Kind, what))
	}
	return lines
}

// title returns the first line about a group.
func (g *Group) title() string {
	title := fmt.Sprintf("%d %s %s", g.Count, g.Kind, g.Action)
	if g.Part != "" {
		title = fmt.Sprintf("%d %s: %s %s", g.Count, g.Kind, g.Part, g.Action)
	}
	if g.Risk != "" && g.Risk != Replaces {
		title += ", which " + string(g.Risk)
	}
	switch {
	case g.Rule == "": // The status, if no rule writes it any more.
		return title
	case g.Child == "":
		return title + fmt.Sprintf(" (rule %s)", g.Rule)
	}
	return title + fmt.Sprintf(" (rule %s, child %s)", g.Rule, g.Child)
}

// Summary returns all lines about a group without its diff, with the first few objects.
func (g *Group) Summary() []string {
	return append(append([]string{g.title()}, g.lines()...), firstNames(g.Objects, mostNames))
}

// lines returns the reasons and fields of a group.
func (g *Group) lines() (lines []string) {
	if g.Action != outcome.Deleted || g.Risk == "" {
		lines = append(lines, g.Reasons.lines()...)
	}
	const most = 12
	for i, f := range g.Fields {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more fields", len(g.Fields)-most))
			break
		}
		lines = append(lines, f.Path+": "+strings.Join(f.Values.lines(), "; "))
	}
	return lines
}

// lines returns the counted texts. A single one has no count.
func (t Tally) lines() (lines []string) {
	for _, c := range t.Texts {
		text := output.Printable(c.Text)
		if len(t.Texts) > 1 || t.Others > 0 {
			text += fmt.Sprintf(" (%d)", c.Count)
		}
		lines = append(lines, text)
	}
	if t.Others > 0 {
		lines = append(lines, fmt.Sprintf("%d others", t.Others))
	}
	return lines
}

// firstNames returns the first names, and the number of the others.
func firstNames(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// firstGroups returns the first groups, and a line about the others.
func firstGroups(all []*Group) (shown []*Group, rest string) {
	if len(all) <= mostShown {
		return all, ""
	}
	objects := 0
	for _, g := range all[mostShown:] {
		objects += g.Count
	}
	return all[:mostShown], fmt.Sprintf("and %d more groups with %s: see -o json", len(all)-mostShown,
		output.Plural(objects, "object"))
}

func writeIndented(b *bytes.Buffer, indent, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
}
