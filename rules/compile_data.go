package rules

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A data is a let that is a map or list. It is computed to a value, which
// expressions read. (A template writes it out instead, see builder.inlinableLet.)
type data struct {
	constant any           // the value, if it is literal
	prog     *expr.Program // or an expression
	text     *text         // or text with expressions in it
	let      *let          // or what an entry of a let is, if others read it
	entries  []dataEntry   // or a map or list
	isMap    bool
	// strict: an absent value, or null in a map, is an error. Otherwise its entry
	// is omitted.
	strict bool
	where  string
	pos    source.Pos
}

// beStrict makes absent values in the data an error.
func (d *data) beStrict() {
	d.strict = true
	for _, e := range d.entries {
		e.value.beStrict()
	}
}

// absent returns the error for a value that must not be absent.
func (d *data) absent() any {
	return types.WrapErr(&expr.Error{Pos: d.pos,
		Message: d.where + ": the value is absent: give it a default with orValue()"})
}

type dataEntry struct {
	key   string // of a map
	value *data
}

// data compiles a node.
func (c *expressions) data(n *source.Node, where string) *data {
	if isLiteral(n) {
		return &data{constant: literalValue(n), where: where, pos: n.Pos}
	}
	switch n.Kind {
	case source.Interp:
		if len(n.Parts) == 1 {
			return &data{prog: c.expression(n.Parts[0].Expr, expr.Any, where), where: where, pos: n.Pos}
		}
		return &data{text: c.text(n, where)}
	case source.List:
		d := &data{}
		for i, item := range n.Items {
			d.entries = append(d.entries, dataEntry{value: c.data(item, fmt.Sprintf("%s[%d]", where, i))})
		}
		return d
	default:
		d := &data{isMap: true}
		for _, f := range n.Fields {
			d.entries = append(d.entries, dataEntry{f.Key.Value, c.data(f.Value, expr.Join(where, f.Key.Value))})
		}
		return d
	}
}

// programs returns the expressions in the data, which may be nil.
func (d *data) programs() []*expr.Program {
	switch {
	case d == nil:
		return nil
	case d.prog != nil:
		return []*expr.Program{d.prog}
	case d.let != nil:
		return d.let.programs()
	}
	programs := d.text.programs()
	for _, e := range d.entries {
		programs = append(programs, e.value.programs()...)
	}
	return programs
}

// shape returns the known shape of the value.
func (d *data) shape() *expr.Shape {
	switch {
	case d.prog != nil:
		return d.prog.Shape()
	case d.text != nil:
		var parts []*expr.Shape
		for _, p := range d.text.programs() {
			parts = append(parts, p.Shape())
		}
		return expr.Computed(parts...)
	case d.let != nil:
		return d.let.data.shape()
	case d.isMap:
		fields := make(map[string]*expr.Shape, len(d.entries))
		for _, e := range d.entries {
			fields[e.key] = e.value.shape()
		}
		return expr.Fields(fields)
	case d.entries != nil:
		items := make([]*expr.Shape, len(d.entries))
		for i, e := range d.entries {
			items[i] = e.value.shape()
		}
		return expr.Elements(items)
	}
	if m, ok := d.constant.(map[string]any); ok {
		fields := make(map[string]*expr.Shape, len(m))
		for key := range m {
			fields[key] = nil
		}
		return expr.Fields(fields)
	}
	return nil
}

// literalValue returns the native value of a literal node, without null entries of maps.
func literalValue(n *source.Node) any {
	switch n.Kind {
	case source.List:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = literalValue(item)
		}
		return out
	case source.Map:
		out := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			if f.Value.Kind != source.Null {
				out[f.Key.Value] = literalValue(f.Value)
			}
		}
		return out
	}
	return n.Value
}

// isLiteral reports whether a node has no expressions.
func isLiteral(n *source.Node) bool {
	for range n.Expressions() {
		return false
	}
	return true
}

// A text is a string that may contain expressions.
type text struct {
	parts []textPart
	where string
	pos   source.Pos
}

type textPart struct {
	literal string
	prog    *expr.Program
}

// text compiles a node that must be text.
func (c *expressions) text(n *source.Node, where string) *text {
	if n == nil {
		return nil // The parser has recorded an error.
	}
	t := &text{where: where, pos: n.Pos}
	switch n.Kind {
	case source.Text:
		s, _ := n.Value.(string)
		t.parts = []textPart{{literal: s}}
	case source.Interp:
		for _, p := range n.Parts {
			part := textPart{literal: p.Text}
			if p.Expr != nil {
				part.prog = c.expression(p.Expr, expr.Any, where)
			}
			t.parts = append(t.parts, part)
		}
	default:
		c.complain(n.Pos, "%s: must be text", where)
	}
	return t
}

// programs returns the expressions of a text.
func (t *text) programs() (programs []*expr.Program) {
	if t == nil {
		return nil
	}
	for _, p := range t.parts {
		if p.prog != nil {
			programs = append(programs, p.prog)
		}
	}
	return programs
}

// String returns the text as it is written, apart from escapes.
func (t *text) String() string {
	var b strings.Builder
	for _, p := range t.parts {
		if b.WriteString(p.literal); p.prog != nil {
			b.WriteString("${" + p.prog.Text() + "}")
		}
	}
	return b.String()
}

// mayBe reports whether the text may have a value, whatever its expressions give.
func (t *text) mayBe(value string) bool {
	rest, open := value, false // open: an expression may give the beginning of the rest
	for i, p := range t.parts {
		at := strings.Index(rest, p.literal)
		switch {
		case p.prog != nil:
			open = true
			continue
		case i == len(t.parts)-1 && open:
			return strings.HasSuffix(rest, p.literal)
		case at < 0 || at > 0 && !open:
			return false
		}
		rest, open = rest[at+len(p.literal):], false
	}
	return open || rest == ""
}

// literal returns the text if it has no expressions.
func (t *text) literal() (string, bool) {
	if t == nil || len(t.parts) != 1 || t.parts[0].prog != nil || t.parts[0].literal == "" {
		return "", false
	}
	return t.parts[0].literal, true
}

// The entries of a let that is a map can read each other by their keys. An entry that
// another one reads is a let of its own, in a variable that expressions cannot name. So
// it is computed once, in any order, and a cycle is found as between other lets.

// maxEntries is the maximum number of entries that others read, in one rule: the shape of
// each one grows with those that it reads.
const maxEntries = 500

// A letEntry is an entry of a let that is a map.
type letEntry struct {
	let
	of   *let
	read bool // another entry reads it
}

// declareEntries declares the entries of a let that is a map with expressions.
func (c *expressions) declareEntries(l *let) {
	n := l.src.Data
	if n == nil || n.Kind != source.Map || isLiteral(n) {
		return
	}
	l.byKey = map[string]*letEntry{}
	for _, f := range n.Fields {
		e := &letEntry{of: l}
		e.src = &syntax.Let{Name: f.Key, Data: f.Value}
		e.variable, e.where = l.variable+"{"+f.Key.Value+"}", expr.Join(l.where, f.Key.Value)
		l.entries = append(l.entries, e)
		l.byKey[f.Key.Value] = e
		for src := range f.Value.Expressions() {
			c.within[src] = e
		}
	}
}

// mapOfEntries compiles the data of a let that is a map.
func (c *expressions) mapOfEntries(l *let) *data {
	d := &data{isMap: true}
	for _, e := range l.entries {
		c.let(&e.let, e.src.Name.Pos)
	}
	for _, e := range l.entries {
		value := e.data
		if e.read {
			value = &data{let: &e.let}
		}
		d.entries = append(d.entries, dataEntry{e.src.Name.Value, value})
	}
	return d
}

// entry returns the entry of the map that expressions read by a name, or nil.
func (e *letEntry) entry(name string) *letEntry {
	if e == nil || !syntax.IsName(name) {
		return nil
	}
	return e.of.byKey[name]
}

// variables returns what to declare for the undeclared names that are those of entries:
// the names, and the variables that they mean.
func (e *letEntry) variables(issues []expr.Issue) (names []string) {
	for _, i := range issues {
		if s := e.entry(i.Undeclared); s != nil {
			names = append(names, i.Undeclared, s.variable)
		}
	}
	return names
}

// readEntries lets an expression read the variables of the entries that it names. A name of the
// rule is that of the rule: it may be older than the entry. It reports false after an error.
func (c *expressions) readEntries(e *letEntry, checked *expr.Checked, src *source.Expr, where string) bool {
	names := map[string]string{}
	for _, name := range checked.Reads() {
		s := e.entry(name)
		if s == nil || c.declared[name] {
			continue
		}
		names[name] = s.variable
		if !s.read {
			if c.entriesRead++; c.entriesRead > maxEntries {
				c.complain(src.Pos, "%s: more than %d entries of lets that others read", where, maxEntries)
				return false
			}
			s.read, s.index = true, len(c.rule.lets)
			c.rule.lets = append(c.rule.lets, &s.let)
			c.rule.vars[s.variable] = variable{letVariable, s.index}
			c.lets[s.variable] = &s.let
		}
	}
	if len(names) > 0 {
		checked.Rename(names)
	}
	return true
}
