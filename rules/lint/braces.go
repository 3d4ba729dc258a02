package lint

import (
	"regexp"
	"strings"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

var (
	// objectPath matches a path into an object, with the name of the object.
	objectPath = regexp.MustCompile(`([A-Za-z_]\w*)\.(?:metadata|spec|status|data)\.\??[A-Za-z_]\w*`)
	// wrapped matches a name or a path in the brackets of another language: #{x},
	// {x.y}, $x.
	wrapped = regexp.MustCompile(`#\{\s*([A-Za-z_]\w*)[^}]*\}|\{\s*([A-Za-z_]\w*)\.[\w.]+\s*\}|\$([A-Za-z_]\w*)\b`)
)

// proseWords is the number of words from which a text is a sentence, which may mention a
// path.
const proseWords = 3

// forgotten finds expressions without ${...} within a text, and what the languages of
// other tools write instead. rules/check finds texts that are nothing but a path.
func (w writing) forgotten(n *source.Node, where string) {
	isObject := func(name string) bool { return w.objects[name] }
	if n.Kind == source.Text && source.Forgotten(n.Literal().Value, isObject) != "" {
		return
	}
	if w.foreign(n, where) {
		return
	}
	opened := false
	for i, text := range literalParts(n) {
		stray := i > 0 && strings.HasPrefix(text, "}") && !opened
		opened = opened || strings.Contains(text, "{")
		if stray {
			w.find(LiteralText, n.Pos, "%s: a } follows directly after ${...}, and is part of the text",
				where).Hint = "remove it"
			continue
		}
		if strings.Contains(text, "\n") || len(strings.Fields(text)) >= proseWords {
			continue
		}
		if path := w.pathIn(text); path != "" {
			w.find(LiteralText, n.Pos, "%s: %q in the text is not an expression", where, path).Hint = "write ${...} around it"
		}
	}
}

// foreign finds an expression of another tool. It is an error in a field of Kubernetes' own
// kinds that nothing evaluates.
func (w writing) foreign(n *source.Node, where string) bool {
	parts := literalParts(n)
	for i, p := range n.Parts {
		if p.Expr != nil {
			parts[i] = expressionMark
		}
	}
	text, is := source.ForeignText(strings.Join(parts, ""))
	if !is || !w.plain && !text.Anywhere {
		return false
	}
	check := LiteralText
	if w.plain {
		check = ForeignSyntax
	}
	w.find(check, n.Pos, "%s: %s is literal text", where,
		strings.ReplaceAll(text.Found, expressionMark, "${...}")).Hint = text.Hint
	return true
}

// expressionMark stands for an expression in a text. No text contains it.
const expressionMark = "\x00"

// literalParts returns the parts of a text by index, with "" for an expression.
func literalParts(n *source.Node) []string {
	if n.Kind == source.Text {
		return []string{n.Literal().Value}
	}
	out := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		out[i] = p.Text
	}
	return out
}

// pathIn returns what looks like an expression in a text, or "".
func (w writing) pathIn(text string) string {
	for _, m := range objectPath.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		before := byte(' ')
		if m[0] > 0 {
			before = text[m[0]-1]
		}
		if (name == "self" || w.objects[name]) && !strings.ContainsRune("._-$", rune(before)) {
			return text[m[0]:m[1]]
		}
	}
	for _, m := range wrapped.FindAllStringSubmatch(text, -1) {
		name := m[1] + m[2] + m[3]
		if w.names[name] || w.lets[name] != nil || m[3] == "" && (name == "self" || w.objects[name]) {
			return m[0]
		}
	}
	return ""
}

// iteratorsOf returns the names of forEach.
func iteratorsOf(c *syntax.Child) map[string]bool {
	out := map[string]bool{}
	for _, it := range c.ForEach {
		out[it.Name.Value] = true
		if it.Index.Value != "" {
			out[it.Index.Value] = true
		}
	}
	return out
}
