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
	"any": "exists", "some": "exists", "includes": "contains", "has_key": "has", "defined": "has", "foreach": "map", "printf": "format",
	"metadata": "self.metadata", "spec": "self.spec", "status": "self.status", "object": "self", "this": "self",
}

// otherTools maps names of other tools, and of functions that rules cannot have, to what
// to do instead.
var otherTools = map[string]string{
	"schema":  "the resource is self: write self.spec or self.metadata", // kro
	"each":    "in readyWhen, the object is child",                      // kro
	"omit":    "to leave a field out, write when(condition, value)",     // kro
	"local":   "name a value with let, and write its name",              // Terraform
	"module":  "a child is written by its id",                           // Terraform
	"Values":  "the values are fields of the resource: write self.spec", // Helm
	"Release": "write self.metadata.name or self.metadata.namespace",    // Helm
	"Chart":   "name a value with let, and write its name",              // Helm
	"now":     "rules cannot read the clock: elapsed(time, duration) says whether a moment has come",
	"random":  "rules have no random numbers: the same objects must give the same result",
	"env":     "rules cannot read the environment",
	"not":     "write !",

	"previous": "write previous(id) with the id of a child",
}

// shellVariable matches the name of an environment variable.
var shellVariable = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// otherOperators matches operators of other languages.
var otherOperators = []struct {
	written *regexp.Regexp
	hint    string
}{
	{regexp.MustCompile(`\{\{`), "{{ }} is not supported: write the expression alone"},
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
	name := strings.TrimPrefix(i.Undeclared, ".")
	if other := otherNames[name]; other != "" {
		return "write " + other
	}
	if other := otherTools[name]; other != "" {
		return other
	}
	if name == src.Text && shellVariable.MatchString(name) && i.Hint == "" {
		return "for the text ${" + name + "}, write $${" + name + "}"
	}
	if let, isLet := strings.CutPrefix(where, "let."); isLet && i.Undeclared != "" && i.Undeclared == src.Text && i.Hint == "" && !strings.ContainsAny(let, ".[") {
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
