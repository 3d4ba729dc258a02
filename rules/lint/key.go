package lint

import (
	"regexp"
	"strings"

	"reconcel/rules/source"
)

// joined matches texts and names that + joins. CEL's escapes are left out: a text with
// one is not followed.
var (
	operand = `[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|"[^"\\]*"|'[^'\\]*'`
	joined  = regexp.MustCompile(`^(?:` + operand + `)(?:\s*\+\s*(?:` + operand + `))*$`)
	each    = regexp.MustCompile(operand)
	nameOf  = regexp.MustCompile(`^([A-Za-z_]\w*)\.metadata\.name$`)
)

// maxKey is the maximum number of bytes of a key. Lets that join lets double it with each
// level.
const maxKey = 1000

// keyOf returns the key of a text with expressions.
func (r *rule) keyOf(n *source.Node) string {
	if n.Kind == source.Text {
		return n.Literal().Value
	}
	var b strings.Builder
	for _, p := range n.Parts {
		if p.Expr == nil {
			b.WriteString(p.Text)
		} else {
			b.WriteString(r.expressionKey(strings.TrimSpace(p.Expr.Text)))
		}
	}
	return b.String()
}

// expressionKey returns the key of an expression: what a let stands for, the name that
// the template of a child has, and texts that + joins are put in.
func (r *rule) expressionKey(text string) string {
	whole := "${" + text + "}"
	if !joined.MatchString(text) {
		return whole
	}
	operands := each.FindAllString(text, -1)
	if len(operands) > 1 && !strings.ContainsAny(text, `"'`) {
		return whole // It may add numbers.
	}
	var b strings.Builder
	for _, o := range operands {
		b.WriteString(r.operandKey(o))
	}
	if b.Len() > maxKey {
		return whole
	}
	return b.String()
}

// operandKey returns the key of an operand. It is computed once.
func (r *rule) operandKey(o string) string {
	key, known := r.keys[o]
	if !known {
		r.keys[o] = "${" + o + "}" // Lets cannot form a cycle. This is a second line of defence.
		key = r.findKey(o)
		r.keys[o] = key
	}
	return key
}

func (r *rule) findKey(o string) string {
	if o[0] == '"' || o[0] == '\'' {
		return o[1 : len(o)-1]
	}
	if let := r.lets[o]; let != nil && let.Expr != nil {
		return r.expressionKey(strings.TrimSpace(let.Expr.Text))
	}
	keys := strings.Split(o, ".")
	if let := r.lets[keys[0]]; let != nil && let.Data != nil {
		if n := let.Data.At(keys[1:]...); n != nil && (n.Kind == source.Text || n.Kind == source.Interp) {
			return r.keyOf(n)
		}
	}
	if m := nameOf.FindStringSubmatch(o); m != nil {
		if c := r.byID[m[1]]; c != nil && c.Replicas == nil && len(c.ForEach) == 0 {
			if name := c.Template.At("metadata", "name"); name != nil && (name.Kind == source.Text ||
				name.Kind == source.Interp) {
				return r.keyOf(name)
			}
		}
	}
	return "${" + o + "}"
}
