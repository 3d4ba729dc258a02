package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

// A naming is the form of the names of a kind.
type naming struct {
	check func(string) []string
	// in are the characters that a name may have besides letters and digits.
	in   string
	says string
}

var (
	domainNames = naming{validation.IsDNS1123Subdomain, "-.", "lower-case letters, digits, - and ., with a letter or digit at both ends"}
	labelNames  = naming{validation.IsDNS1123Label, "-", "at most 63 lower-case letters, digits and -, with a letter or digit at both ends"}
)

// anyNames are the names of kinds that are not restricted to DNS names.
var anyNames = naming{check: func(string) []string { return nil }}

func namingOf(gk schema.GroupKind) naming {
	switch {
	case freelyNamed(gk):
		return anyNames
	case gk == schema.GroupKind{Kind: "Service"}, gk == schema.GroupKind{Kind: "Namespace"}:
		return labelNames
	}
	return domainNames
}

// objectName records an error if no object of a kind can have a name with these
// literal parts.
func (c *compiler) objectName(n *source.Node, gk schema.GroupKind, where string) {
	rule := namingOf(gk)
	if name := c.literalName(n, rule, where); len(rule.check(name)) > 0 {
		c.complain(n.Pos, "%s: %q cannot be the name of a %s: %s", where, name, gk.Kind, rule.says).Hint = rule.instead(name)
	}
}

// nameStart checks the prefix of generated names.
func (c *compiler) nameStart(n *source.Node, gk schema.GroupKind, where string) {
	rule := namingOf(gk)
	if name := c.literalName(n, rule, where); len(rule.check(name+"x")) > 0 {
		c.complain(n.Pos, "%s: %q cannot be the prefix of the name of a %s: %s", where, name, gk.Kind, rule.says).Hint = rule.instead(name)
	}
}

// namespaceName checks the name of a namespace.
func (c *compiler) namespaceName(n *source.Node, where string) {
	if name := c.literalName(n, labelNames, where); len(labelNames.check(name)) > 0 {
		c.complain(n.Pos, "%s: %q cannot be the name of a namespace: %s", where, name, labelNames.says).Hint = labelNames.instead(name)
	}
}

// literalName returns a literal name, or otherwise a name that is valid for every
// kind. It checks the text around expressions, and records an error for a name that
// must have been meant as an expression.
func (c *compiler) literalName(n *source.Node, rule naming, where string) string {
	const fine = "x"
	if n.Kind == source.Interp && rule.in != "" {
		c.nameParts(n, rule, where)
	}
	name, ok := n.Value.(string)
	if !ok || name == "" {
		return fine
	}
	if meant := source.Forgotten(name, c.declared...); meant != "" {
		c.complain(n.Pos, "%s: %q is literal text, not an expression", where, name).Hint = "write " + meant
		return fine
	}
	return name
}

// nameParts checks the text around expressions.
func (c *compiler) nameParts(n *source.Node, rule naming, where string) {
	for i, p := range n.Parts {
		if p.Expr != nil {
			continue
		}
		first, last := i == 0, i == len(n.Parts)-1
		bad := strings.IndexFunc(p.Text, func(r rune) bool { return !rule.allows(r) }) >= 0 ||
			first && strings.HasPrefix(p.Text, "-") || last && strings.HasSuffix(p.Text, ".") ||
			last && strings.HasSuffix(p.Text, "-") && !strings.HasSuffix(where, "generateName")
		if bad {
			c.complain(n.Pos, "%s: %q cannot be part of a name: %s", where, p.Text, rule.says)
		}
	}
}

func (r naming) allows(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune(r.in, c)
}

// instead returns a hint with a similar name that is valid, or "".
func (r naming) instead(name string) string {
	if strings.Contains(name, "{{") || strings.Contains(name, "$(") {
		return "a value is written ${...}"
	}
	similar := strings.Map(func(c rune) rune {
		if slices.Contains([]rune{'_', ' ', '.', '/', ':'}, c) && !r.allows(c) {
			return '-'
		}
		return c
	}, strings.ToLower(name))
	if similar == name || len(r.check(similar)) > 0 {
		return ""
	}
	return "write " + similar
}
