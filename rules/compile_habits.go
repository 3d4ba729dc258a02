package rules

import (
	"regexp"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// otherNames maps names of other languages to those of CEL.
var otherNames = map[string]string{
	"nil": "null", "None": "null", "undefined": "null", "True": "true", "False": "false",
	"len": "size", "length": "size", "count": "size", "range": "lists.range", "toString": "string", "str": "string",
	"default": "orValue", "toLower": "lowerAscii", "toUpper": "upperAscii", "lower": "lowerAscii", "upper": "upperAscii",
	"any": "exists", "some": "exists", "includes": "contains", "has_key": "has",
	"metadata": "self.metadata", "spec": "self.spec", "status": "self.status", "object": "self", "this": "self",
}

// otherOperators matches operators of other languages.
var otherOperators = []struct {
	written *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`\w\?\.\w`), "write .? for a field that may be absent"},
	{regexp.MustCompile(`\?\?`), "append .orValue(...) to a field with .?"},
	{regexp.MustCompile(`=~`), "write .matches(...)"},
	{regexp.MustCompile(`[^=!<>]=[^=~>]`), "write == to compare"},
	{regexp.MustCompile(`\band\b`), "write && for and"},
	{regexp.MustCompile(`\bor\b`), "write || for or"},
	{regexp.MustCompile(`\bnot\b`), "write ! for not"},
	{regexp.MustCompile(`=>|->`), "write .map(x, ...) with a name and an expression"},
}

var stringLiteral = regexp.MustCompile(`"[^"]*"|'[^']*'`)

// hintHabit returns how CEL expresses a construct of another language, or "".
func hintHabit(i expr.Issue, src *source.Expr, where string) string {
	if name, ok := strings.CutPrefix(i.Message, "undeclared function '"); ok {
		i.Undeclared = strings.TrimSuffix(name, "'")
	}
	if other := otherNames[i.Undeclared]; other != "" {
		return "write " + other
	}
	if i.Undeclared != "" && i.Undeclared == src.Text && strings.HasPrefix(where, "let.") && i.Hint == "" {
		return "text needs quotes of its own: '\"" + src.Text + "\"'"
	}
	if strings.HasPrefix(i.Message, "syntax error: ") {
		text := stringLiteral.ReplaceAllString(src.Text, `""`)
		for _, o := range otherOperators {
			if o.written.MatchString(text) {
				return o.hint
			}
		}
	}
	return i.Hint
}
