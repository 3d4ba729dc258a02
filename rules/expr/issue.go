package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/source"
)

// An Issue is an error in an expression.
type Issue struct {
	Pos        source.Pos
	Message    string
	Hint       string
	Undeclared string // the undeclared name, if that is the issue
	Field      string // the name of a field that does not exist, or ""
	Node       int64  // the id of the node that it is about
}

// issues rewrites CEL's errors for authors of rules, and leaves out those that only
// follow from others. It passes on an error that it does not know.
func (s *Scope) issues(src *source.Expr, found []*common.Error) []Issue {
	var out []Issue
	for _, e := range found {
		if strings.Contains(e.Message, "!error!") {
			continue
		}
		i := Issue{Pos: src.At(max(1, e.Location.Line()), max(0, e.Location.Column())), Message: e.Message, Node: e.ExprID}
		i.Field, _ = quotedAfter(e.Message, "undefined field '")
		if name, ok := quotedAfter(e.Message, "undeclared reference to '"); ok {
			if s.isNamespace(name) && len(found) > 1 {
				continue // It is part of a call of an unknown lists.f().
			}
			s.undeclared(&i, name, lineUpTo(src.Text, e))
		} else {
			explainIssue(&i)
		}
		i.Message = oneLine.Replace(i.Message)
		if !slices.ContainsFunc(out, func(o Issue) bool { return o.Pos == i.Pos && o.Message == i.Message }) {
			out = append(out, i)
		}
	}
	if len(out) == 0 && len(found) > 0 {
		out = append(out, Issue{Pos: src.At(1, 0), Message: "the expression does not compile"})
	}
	return out
}

// oneLine keeps an error that quotes the expression on one line.
var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// undeclared explains an undeclared name. text is the line up to the character that
// CEL reports.
func (s *Scope) undeclared(i *Issue, name, text string) {
	if call, ok := strings.CutSuffix(text, "("); ok {
		// A call. CEL splits lists.f into a variable and a method.
		if start := strings.LastIndexFunc(call, notInName); s.isNamespace(namespaceOf(call[start+1:])) {
			name = call[start+1:]
		}
		i.Message = fmt.Sprintf("undeclared function '%s'", name)
		i.Hint = source.Suggest(name, s.functions())
		return
	}
	i.Undeclared = name
	i.Message = fmt.Sprintf("undeclared name '%s'", name)
	i.Hint = source.Suggest(name, s.names)
}

func explainIssue(i *Issue) {
	if m, ok := strings.CutPrefix(i.Message, "Syntax error: "); ok {
		i.Message = "syntax error: " + m
		if strings.Contains(m, "'<EOF>'") {
			i.Message = "syntax error: the expression is not complete"
		} else if word, ok := quotedAfter(m, "input '"); ok {
			i.Message = "syntax error: unexpected '" + word + "'"
		}
	}
	if name, ok := quotedAfter(i.Message, "found no matching overload for '"); ok {
		types, _ := quotedAfter(i.Message, "applied to '")
		i.Message = fmt.Sprintf("%s() does not take %s", name, types)
		if symbol, ok := operators.FindReverse(name); ok && symbol != "" {
			i.Message = fmt.Sprintf("'%s' does not take %s", symbol, types)
		}
		if name == operators.Conditional {
			explainChoice(i, types)
		}
	}
}

// explainChoice explains a conditional whose branches have different types, given as
// (bool, string, int).
func explainChoice(i *Issue, types string) {
	var parts []string
	depth, start := 0, 1
	for at, c := range types {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if c == ',' && depth == 1 || depth == 0 {
			parts = append(parts, strings.TrimSpace(types[start:at]))
			start = at + 1
		}
	}
	if len(parts) != 3 || parts[0] != "bool" && parts[0] != "dyn" {
		return
	}
	i.Message = fmt.Sprintf("the two sides of ? : are %s and %s", parts[1], parts[2])
	if strings.HasPrefix(parts[1], "optional_type(") != strings.HasPrefix(parts[2], "optional_type(") {
		i.Hint = "to leave a field out, write null instead of optional.none(), or optional.of(...) on the other side"
	}
}

// functions returns the names of functions that expressions can call.
func (s *Scope) functions() []string {
	var out []string
	for name := range s.base.env.Functions() {
		if !strings.ContainsAny(name, "@_!-") {
			out = append(out, name)
		}
	}
	return out
}

// isNamespace reports whether functions are called name.something.
func (s *Scope) isNamespace(name string) bool {
	return name != "" && slices.ContainsFunc(s.functions(), func(f string) bool { return namespaceOf(f) == name })
}

// namespaceOf returns the part before the last dot.
func namespaceOf(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

func notInName(c rune) bool {
	return c != '.' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}

// lineUpTo returns the line of an error up to the reported character.
func lineUpTo(text string, e *common.Error) string {
	lines := strings.Split(text, "\n")
	if n := e.Location.Line(); n >= 1 && n <= len(lines) {
		line := []rune(lines[n-1])
		if c := e.Location.Column(); c >= 0 && c < len(line) {
			return string(line[:c+1])
		}
	}
	return ""
}

// quotedAfter returns the text in single quotes after a prefix, which ends with the
// opening quote.
func quotedAfter(s, before string) (string, bool) {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return "", false
	}
	out, _, ok := strings.Cut(rest, "'")
	return out, ok
}
