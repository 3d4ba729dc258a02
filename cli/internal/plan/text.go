package plan

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"reconcel/cli/internal/output"
	"reconcel/engine"
)

// Limits of a report for people. -o json has everything.
const (
	mostNames = 3  // of the objects of a group
	mostRisky = 20 // of the objects of a risk
	mostShown = 30 // groups of other changes
)

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
		r.kindTable(&b)
	}
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
		}
	}
	list("Held until approved", r.held())
	list("Conditions", conditionLines(r.Conditions))
	if p := r.Permissions; p != nil {
		list("Permissions to add", p.Added)
		list("Permissions no longer needed, once the cleanup is done", p.Removed)
	}
	list("New kinds", r.NewKinds)
	if len(r.Risks) > 0 {
		b.WriteString("\nRisks\n")
		for _, g := range r.Risks {
			g.write(&b, mostRisky)
			writeIndented(&b, "    ", g.Diff)
		}
	}
	for _, section := range []struct {
		title  string
		groups []*Group
	}{{"Other changes", r.Changes}, {"Waits or fails", r.Pending}} {
		if len(section.groups) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", section.title)
		shown, rest := firstGroups(section.groups)
		for _, g := range shown {
			g.write(&b, mostNames)
		}
		if rest != "" {
			fmt.Fprintf(&b, "  %s\n", rest)
		}
	}
	list("Notes", r.notes())
	list("Unknown", r.Unknown)
	list("Errors: the plan is incomplete", r.Errors)
	return b.Bytes()
}

// notes returns the notes, and the number of changes that are not part of the plan.
func (r *Report) notes() []string {
	if r.Already == 0 {
		return r.Notes
	}
	return append([]string{fmt.Sprintf("%s not counted: the running rules have the same result (see reconcel diff)", output.Plural(r.Already, "change"))}, r.Notes...)
}

// String returns the numbers of primaries.
func (r Resources) String() string {
	return fmt.Sprintf("%d of %d change, %d are reconciled", r.Changed, r.Watched, r.Reconciled)
}

// columns are the columns of the table of kinds.
var columns = []struct {
	name string
	of   func(*KindCount) int
}{
	{"CREATED", func(k *KindCount) int { return k.Created }},
	{"CONFIGURED", func(k *KindCount) int { return k.Configured }},
	{"REPLACED", func(k *KindCount) int { return k.Replaced }},
	{"ADOPTED", func(k *KindCount) int { return k.Adopted }},
	{"DELETED", func(k *KindCount) int { return k.Deleted }},
	{"ORPHANED", func(k *KindCount) int { return k.Orphaned }},
	{"STATUS", func(k *KindCount) int { return k.Status }},
}

// cells returns the table of kinds, with its header.
func (r *Report) cells() (rows [][]string) {
	header := []string{"KIND"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	rows = append(rows, header)
	for _, k := range r.Kinds {
		row := []string{k.Kind + " (" + k.APIVersion + ")"}
		for _, c := range columns {
			row = append(row, fmt.Sprint(c.of(k)))
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *Report) kindTable(b *bytes.Buffer) {
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range r.cells() {
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush() // A buffer never fails.
}

func conditionLines(all []ConditionChange) (lines []string) {
	for _, c := range all {
		what := orNone(c.Before) + " → " + orNone(c.After)
		if c.Before == c.After {
			what = c.After + ", another reason or message"
		}
		lines = append(lines, fmt.Sprintf("%s of %d %s: %s", c.Type, c.Count, c.Kind, what))
	}
	return lines
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// write writes a group and its fields, and the names of the first objects.
func (g *Group) write(b *bytes.Buffer, names int) {
	fmt.Fprintf(b, "  %s\n", g.title())
	for _, line := range g.lines() {
		fmt.Fprintf(b, "      %s\n", line)
	}
	fmt.Fprintf(b, "      %s\n", firstNames(g.Objects, names))
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
	title += fmt.Sprintf(" (rule %s", g.Rule)
	if g.Child != "" {
		title += ", child " + g.Child
	}
	return title + ")"
}

// Summary returns all lines about a group without its diff, with the first few objects.
func (g *Group) Summary() []string {
	return append(append([]string{g.title()}, g.lines()...), firstNames(g.Objects, mostNames))
}

// lines returns the reasons and fields of a group.
func (g *Group) lines() (lines []string) {
	if g.action() != engine.Deleted || g.Risk == "" {
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
	return all[:mostShown], fmt.Sprintf("and %d more groups with %s: see -o json", len(all)-mostShown, output.Plural(objects, "object"))
}

func writeIndented(b *bytes.Buffer, indent, text string) {
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
}
