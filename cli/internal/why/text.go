package why

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/cli/internal/output"
	"reconcel/rules"
	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

const masked = "*** (withheld)"

// Text prints an answer for people.
func (a *Answer) Text(now time.Time) []byte {
	p := &printer{now: now, sources: a.Sources}
	p.line("%s", a.Object)
	if a.Resource != nil {
		p.entry("Child", fmt.Sprintf("%s of %s, rule %s", a.Child, a.Resource, a.Rule))
	}
	if a.Finding != nil {
		p.entry("State", a.Finding.String())
	}
	if a.Field != nil {
		p.field(a.Field)
	}
	if a.Condition != nil {
		p.condition(a.Condition)
	}
	if len(a.Existence) > 0 {
		p.line("Exists by:")
		p.origins(a.Existence, 1)
	}
	if len(a.Children) > 0 {
		p.line("Children:")
		p.children(a.Children)
	}
	return p.out.Bytes()
}

type printer struct {
	out     bytes.Buffer
	now     time.Time
	sources []source.File
}

// position returns where an expression is: its line in a file, or its path in a Rules object.
func (p *printer) position(at source.Pos) string {
	for _, f := range p.sources {
		if f.Name == at.File && syntax.ObjectIn(f.Name) != "" {
			return f.Name + ": " + source.PathAt(f, at, "")
		}
	}
	return at.String()
}

func (p *printer) line(format string, args ...any) {
	p.out.WriteString(output.Printable(fmt.Sprintf(format, args...)) + "\n")
}

func (p *printer) entry(name, value string) { p.line("%-13s%s", name+":", value) }

func (p *printer) indented(level int, text string) {
	p.line("%s%s", strings.Repeat("  ", level), text)
}

func (p *printer) field(f *Field) {
	p.entry("Field", f.Path)
	p.entry("Value", text(f.Value, f.Withheld))
	if f.Live != nil {
		p.live(f)
	}
	if len(f.Origins) == 0 {
		p.entry("From", "no rule sets it: the API server or another writer does")
		return
	}
	p.line("From:")
	p.origins(f.Origins, 1)
}

func (p *printer) live(f *Field) {
	l := f.Live
	state := text(l.Value, l.Withheld) + ", " + string(l.State)
	if l.State == Drift || l.State == Changing {
		state += " to " + text(l.Next, l.Withheld)
	}
	if l.Reason != "" {
		state += ": " + l.Reason
	}
	p.entry("In cluster", state)
	if w := l.Writer; w != nil {
		by := fmt.Sprintf("%s (%s", w.Manager, w.Operation)
		if w.Subresource != "" {
			by += " of " + w.Subresource
		}
		by += ")"
		if at, err := time.Parse(time.RFC3339, w.Time); err == nil {
			by += ", " + output.Age(&metav1.Time{Time: at}, p.now) + " ago"
		}
		p.entry("Written by", by)
	}
}

func (p *printer) condition(c *Condition) {
	p.entry("Condition", c.Type)
	switch {
	case c.Withheld:
		p.entry("Status", c.Status+", "+masked)
	case c.Status != "":
		p.entry("Status", strings.TrimSuffix(strings.TrimSuffix(c.Status+", "+c.Reason, ", ")+": "+c.Message, ": "))
	}
	if len(c.Origins) > 0 {
		p.line("From:")
		p.origins(c.Origins, 1)
	}
	if len(c.Children) > 0 {
		p.line("Children:")
		p.children(c.Children)
	}
}

func (p *printer) children(all []Child) {
	for _, c := range all {
		name := "rule " + c.Rule
		if c.Child != "" {
			name += ", " + c.Child
		}
		p.indented(1, name+": "+c.Finding.String())
		p.origins(c.Reads, 2)
	}
}

func (p *printer) origins(all []rules.Origin, level int) {
	for i := range all {
		p.origin(&all[i], level)
	}
}

// origin prints an expression with its value, and below it what it has read.
func (p *printer) origin(o *rules.Origin, level int) {
	what := o.Field
	switch o.Role {
	case rules.RoleExcluded:
		what = "excluded with " + o.Field
	case rules.RoleChild:
		what = "reads " + o.Field
	case rules.RolePosition:
		what += " (earlier in the list)"
	case rules.RoleDefault:
		what += " (around the field)"
	}
	switch {
	case o.Error != "":
		what += ": " + o.Error
	case o.Withheld || o.Value != nil:
		what += " = " + text(o.Value, o.Withheld)
	}
	if o.Text != "" {
		what += "  " + strings.Join(strings.Fields(o.Text), " ")
	}
	p.indented(level, what+"  ("+p.position(o.Pos)+")")
	reads := slices.DeleteFunc(slices.Clone(o.Reads), func(r rules.Reading) bool { return isImplied(r, o.Reads) })
	more := max(0, len(reads)-mostReads)
	for i := range reads[:len(reads)-more] {
		p.reading(&reads[i], level+1)
	}
	if more > 0 {
		p.indented(level+1, fmt.Sprintf("… and %d more: -o json shows them", more))
	}
}

// mostReads is how many of the values that an expression has read are shown. A merge of two templates
// reads all that is in both.
const mostReads = 12

// isImplied reports whether a number of elements needs no line of its own: an element that was read is shown.
func isImplied(r rules.Reading, all []rules.Reading) bool {
	return r.Use == expr.UsedExtent && slices.ContainsFunc(all, func(other rules.Reading) bool {
		return len(other.Path) > len(r.Path) && strings.HasPrefix(other.Path, r.Path) &&
			strings.ContainsAny(other.Path[len(r.Path):len(r.Path)+1], ".[")
	})
}

func (p *printer) reading(r *rules.Reading, level int) {
	what := r.Path
	switch r.Use {
	case expr.UsedAbsence:
		what += " is absent"
	case expr.UsedPresence:
		what += " exists"
	case expr.UsedExtent:
		what += " has " + output.Plural(asInt(r.Value), "element")
	default:
		if r.Withheld || r.Value != nil {
			what += " = " + text(r.Value, r.Withheld)
		}
	}
	if r.Again && len(r.From) == 0 {
		what += " (see above)"
	}
	p.indented(level, what)
	p.origins(r.From, level+1)
}

func asInt(value any) int {
	n, _ := value.(int64)
	return int(n)
}

// mostText is how much of a value is shown.
const mostText = 100

func text(value any, withheld bool) string {
	if withheld {
		return masked
	}
	if value == nil {
		return "none"
	}
	out, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	if runes := []rune(string(out)); len(runes) > mostText {
		return string(runes[:mostText-1]) + "…"
	}
	return string(out)
}
