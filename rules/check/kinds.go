package check

import (
	"maps"
	"slices"
	"strings"

	"reconcel/rules/lint"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// lacking stands for the kinds in a message about a field that they lack.
const lacking = "\x00"

// eachKind checks a rule for each of its kinds. What is found for all of them is told
// once, anything else with the kinds.
func (c *checker) eachKind(written []*syntax.Rule) {
	before := c.ledger
	var ledgers []ledger
	for _, src := range written {
		c.ledger = newLedger(before.broken)
		maps.Copy(c.ledger.noted, before.noted)
		maps.Copy(c.ledger.speclessKinds, before.speclessKinds)
		c.ledger.found.Unreported = slices.Clone(before.found.Unreported)
		c.rule(src)
		ledgers = append(ledgers, c.ledger)
	}
	c.ledger = before
	c.merge(&c.ledger.found.Errors, written, ledgers, func(f *Found) []*source.Error { return f.Errors })
	c.merge(&c.ledger.found.Warnings, written, ledgers, func(f *Found) []*source.Error { return f.Warnings })
	for _, l := range ledgers {
		maps.Copy(c.ledger.noted, l.noted)
		maps.Copy(c.ledger.speclessKinds, l.speclessKinds)
		maps.Copy(c.ledger.found.ExcludedWith, l.found.ExcludedWith)
		for _, e := range l.found.Notes {
			c.ledger.say(&c.ledger.found.Notes, e)
		}
		for _, gvk := range l.found.Unreported {
			if !slices.Contains(c.ledger.found.Unreported, gvk) {
				c.ledger.found.Unreported = append(c.ledger.found.Unreported, gvk)
			}
		}
	}
}

// merge adds what was found for the kinds of a rule.
func (c *checker) merge(to *[]*source.Error, written []*syntax.Rule, ledgers []ledger,
	of func(*Found) []*source.Error) {
	kinds := map[finding][]string{}
	var firsts []*source.Error
	for i := range ledgers {
		for _, e := range of(&ledgers[i].found) {
			key := finding{e.Pos, e.Message}
			if kinds[key] == nil {
				firsts = append(firsts, e)
			}
			kinds[key] = append(kinds[key], written[i].For.Kind.Value)
		}
	}
	for _, e := range firsts {
		of := kinds[finding{e.Pos, e.Message}]
		if e.Check == lint.AbsentField && c.lacked[e.Pos] {
			continue // For other kinds the same field may be absent: one mistake.
		}
		c.lacked[e.Pos] = c.lacked[e.Pos] || strings.Contains(e.Message, lacking)
		e.Message = withKinds(e.Message, of, len(of) == len(written))
		c.ledger.say(to, e)
	}
}

// withKinds returns a message with the kinds that it is about, unless it is about all or
// names them already.
func withKinds(message string, kinds []string, all bool) string {
	has := " has "
	if len(kinds) > 1 {
		has = " have "
	}
	list := listKinds(kinds)
	switch {
	case strings.Contains(message, lacking):
		return strings.Replace(message, lacking, list+has, 1)
	case all || strings.HasPrefix(message, "for[") || len(kinds) == 1 && strings.Contains(message, kinds[0]):
		return message
	}
	return "for " + list + ": " + message
}

// listKinds returns a list of kinds as text.
func listKinds(kinds []string) string {
	last := len(kinds) - 1
	if last == 0 {
		return kinds[0]
	}
	return strings.Join(kinds[:last], ", ") + " and " + kinds[last]
}
