package rules

import (
	"regexp"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// shellVariable matches the name of an environment variable.
var shellVariable = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// hintHabit returns how CEL expresses a construct of another language, or "".
func hintHabit(i expr.Issue, src *source.Expr) string {
	function, isCall := strings.CutPrefix(i.Message, "undeclared function '")
	if isCall {
		i.Undeclared = strings.TrimSuffix(function, "'")
	}
	name := strings.TrimPrefix(i.Undeclared, ".")
	if hint := source.HintName(name); hint != "" && (isCall || i.Hint == "") { // A name of the rule is nearer.
		return hint
	}
	if name == src.Text && shellVariable.MatchString(name) && i.Hint == "" {
		return "for the text ${" + name + "}, write $${" + name + "}"
	}
	if hint := source.HintOperator(src.Text); hint != "" && strings.HasPrefix(i.Message, "syntax error: ") {
		return hint
	}
	return i.Hint
}

// meantAsText returns the hint for a let that must have been meant as text, or "".
func meantAsText(i expr.Issue, src *source.Expr, where string) string {
	let, isLet := strings.CutPrefix(where, "let.")
	broken := i.Undeclared != "" || strings.HasPrefix(i.Message, "syntax error: ")
	if !isLet || i.Hint != "" || !broken || strings.ContainsAny(let, ".[") || !source.IsPlainText(src.Text) {
		return ""
	}
	return "text needs quotes of its own: '\"" + strings.TrimSpace(src.Text) + "\"'"
}
