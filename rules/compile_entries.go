package rules

import (
	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

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
