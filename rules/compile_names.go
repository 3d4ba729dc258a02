package rules

import (
	"strings"

	"reconcel/rules/source"
)

// literalPart records an error if a name with these literal parts cannot be what it
// names. rest stands for what is appended to the name.
func (c *expressions) literalPart(n *source.Node, rule naming, where, rest, what string) {
	if name := c.literalName(n, rule, where); len(rule.check(name+rest)) > 0 {
		c.complain(n.Pos, "%s: %q cannot be the %s: %s", where, name, what, rule.says).Hint = rule.hintName(name)
	}
}

// literalName returns a literal name, or otherwise a name that is valid for every
// kind. It checks the text around expressions, and records an error for a name that
// must have been meant as an expression.
func (c *expressions) literalName(n *source.Node, rule naming, where string) string {
	const fine = "x"
	if n.Kind == source.Interp && rule.in != "" {
		c.nameParts(n, rule, where)
	}
	name, ok := n.Value.(string)
	if !ok || name == "" {
		return fine
	}
	if meant := source.Forgotten(name, func(name string) bool { return c.declared[name] }); meant != "" {
		c.complain(n.Pos, "%s: %q is literal text, not an expression", where, name).Hint = "write " + meant
		return fine
	}
	return name
}

// nameParts checks the text around expressions.
func (c *expressions) nameParts(n *source.Node, rule naming, where string) {
	for i, p := range n.Parts {
		if p.Expr != nil {
			continue
		}
		first, last := i == 0, i == len(n.Parts)-1
		bad := strings.IndexFunc(p.Text, func(r rune) bool { return !rule.allowsRune(r) }) >= 0 ||
			first && strings.HasPrefix(p.Text, "-") || last && strings.HasSuffix(p.Text, ".") ||
			last && strings.HasSuffix(p.Text, "-") && !strings.HasSuffix(where, "generateName")
		if bad {
			c.complain(n.Pos, "%s: %q cannot be part of a name: %s", where, p.Text, rule.says)
		}
	}
}
