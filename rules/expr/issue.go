package expr

import (
	"cmp"
	"fmt"
	"regexp"
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
	Function   string // the name of a function that does not exist, or ""
	Node       int64  // the id of the node that it is about
	// Within begins the message of an issue in a function of define: "f() at rules.yaml:3:5: ".
	Within string

	// Follows: it is a consequence of an error in a definition.
	Follows bool

	called    string // the name of a function that takes other arguments, or ""
	arguments []string
}

// maxIssues is the maximum number of issues of one expression.
const maxIssues = 10

// issues rewrites CEL's errors for authors of rules, and leaves out those that only
// follow from others. It passes on an error that it does not know.
func (b *environment) issues(src *source.Expr, found []*common.Error) []Issue {
	var out []Issue
	for _, e := range found {
		if len(out) == maxIssues {
			break
		}
		if strings.Contains(e.Message, "!error!") {
			continue
		}
		i := Issue{Pos: src.At(max(1, e.Location.Line()), max(0, e.Location.Column())), Message: e.Message, Node: e.ExprID}
		i.Field, _ = quotedAfter(e.Message, "undefined field '")
		if name, ok := quotedAfter(e.Message, "undeclared reference to '"); ok {
			if b.isNamespace(name) && len(found) > 1 {
				continue // It is part of a call of an unknown lists.f().
			}
			if b.undeclared(&i, name, lineUpTo(src.Text, e)); usages[name] != "" && i.Undeclared == "" {
				return []Issue{i} // The names that the macro would declare are undeclared, too.
			}
		} else if name, ok := quotedAfter(e.Message, otherArguments); ok && usages[name] != "" {
			i.misuse(name)
			return []Issue{i}
		} else {
			explainIssue(&i, src.Text)
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

// otherArguments begins CEL's error for a call with other arguments.
const otherArguments = "found no matching overload for '"

// briefName is the length of names that resemble too many others.
const briefName = 4

// usages are the macros of CEL. A call with other arguments looks like an undeclared
// function.
var usages = map[string]string{
	"has": "has(self.spec.image)", "all": "list.all(x, condition)",
	"exists":     "list.exists(x, condition), or exists(id) for a lookup or child",
	"exists_one": "list.exists_one(x, condition)",
	"existsOne":  "list.existsOne(x, condition)", "map": "list.map(x, value)", "filter": "list.filter(x, condition)",
	"sortBy": "list.sortBy(x, key)",
	"optMap": "optional.optMap(x, value)", "optFlatMap": "optional.optFlatMap(x, value)",
	"cel.bind":      "cel.bind(name, value, expression)",
	"transformList": "map.transformList(key, value, result)", "transformMap": "map.transformMap(key, value, result)",
	"transformMapEntry": "map.transformMapEntry(key, value, {newKey: result})",
	"when":              "when(condition, value)",
	"isTrue":            `isTrue(x, "Ready")`, "condition": `condition(x, "Ready")`, "label": `label(x, "key")`,
	"annotation":     `annotation(x, "key")`,
	"selects":        "selects(self.spec.selector, object)",
	string(Previous): "previous(id) for a child",
}

// misuse explains a call of a macro with other arguments.
func (i *Issue) misuse(name string) {
	i.Message = fmt.Sprintf("%s() does not take these arguments", name)
	i.Hint = "write " + usages[name]
}

// undeclared explains an undeclared name. text is the line up to the character that
// CEL reports.
func (b *environment) undeclared(i *Issue, name, text string) {
	if call, ok := strings.CutSuffix(text, "("); ok {
		// A call. CEL splits lists.f into a variable and a method.
		if start := strings.LastIndexFunc(call, notInName); b.isNamespace(namespaceOf(call[start+1:])) {
			name = call[start+1:]
		}
		if usages[name] != "" {
			i.misuse(name)
			return
		}
		i.Function = name
		i.Message = fmt.Sprintf("undeclared function '%s'", name)
		i.Hint = b.suggest(name)
		return
	}
	i.Undeclared = name
	i.Message = fmt.Sprintf("undeclared name '%s'", name)
	if _, ok := PreviousOf(name); ok {
		i.Message = Previous.Takes()
	}
}

// suggest returns the functions that an unknown one may mean.
func (b *environment) suggest(name string) string {
	first, _, dotted := strings.Cut(name, ".")
	if near := source.Suggest(name, b.functions); dotted && near != "" {
		return near
	}
	var related []string
	for _, f := range b.functions {
		if parts := strings.Split(f, "."); len(parts) > 1 && slices.ContainsFunc(parts, func(part string) bool {
			return strings.EqualFold(part, first)
		}) {
			related = append(related, f)
		}
	}
	if len(related) > 0 {
		return "there is " + strings.Join(related, ", ")
	}
	if len(name) < briefName {
		return ""
	}
	return cmp.Or(source.Suggest(name, b.functions), "reconcel explain functions lists all")
}

// explainIssue rewrites the messages that CEL has words of its own for.
func explainIssue(i *Issue, text string) {
	if m, ok := strings.CutPrefix(i.Message, "Syntax error: "); ok {
		i.Message = "syntax error: " + m
		if unknown, ok := quotedAfter(m, "token recognition error at: '"); ok {
			i.Message = "syntax error: unexpected '" + strings.TrimSpace(unknown) + "'"
		} else if strings.Contains(m, "'<EOF>'") {
			i.Message = "syntax error: the expression is not complete"
		} else if word, ok := quotedAfter(m, "input '"); ok {
			i.Message = "syntax error: unexpected '" + word + "'"
		}
	}
	switch name, ok := quotedAfter(i.Message, otherArguments); {
	case ok:
		types, _ := quotedAfter(i.Message, "applied to '")
		explainCall(i, name, readSignature(types))
	case strings.HasPrefix(i.Message, "invalid argument to has() macro"):
		i.Message = "has() takes a field, such as has(self.spec.image)"
		i.Hint = hintHas(text)
	case strings.HasPrefix(i.Message, "type '"):
		if t, ok := quotedAfter(i.Message, "type '"); ok && strings.HasSuffix(i.Message, "does not support field selection") {
			i.Message = "a value of type " + plainType(t) + " has no fields"
		}
	case strings.HasPrefix(i.Message, "expression of type '"):
		t, _ := quotedAfter(i.Message, "expression of type '")
		i.Message = "a value of type " + plainType(t) + " cannot be iterated"
	case strings.HasPrefix(i.Message, "expected type '"):
		expected, _ := quotedAfter(i.Message, "expected type '")
		found, _ := quotedAfter(i.Message, "but found '")
		i.Message = "expected " + plainType(expected) + ", got " + plainType(found)
	}
	if word, ok := strings.CutPrefix(i.Message, "reserved identifier: "); ok {
		i.Message = "'" + word + "' is a reserved word"
		i.Hint = statements[word]
	}
}

// statements say how CEL expresses the statements of other languages.
var statements = map[string]string{
	"if": "write condition ? a : b", "else": "write condition ? a : b",
	"for":   "write list.map(x, ...) or list.filter(x, ...)",
	"while": "write list.map(x, ...) or list.filter(x, ...)", "loop": "write list.map(x, ...) or list.filter(x, ...)",
	"var": "write self.spec for a field of the resource, and name other values with let", "let": "name a value with let",
	"const": "name a value with let", "function": "name a value with let",
	"return": "write the value alone",
}

// accessible matches the argument of has() with .? or an index in it.
var (
	hasCall    = regexp.MustCompile(`has\(([\w.?\[\]"']+)\)`)
	textIndex  = regexp.MustCompile(`\[\??["']([^"']*)["']\]`)
	identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// hintHas suggests the field for a call of has() with another path to it.
func hintHas(text string) string {
	m := hasCall.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	path := textIndex.ReplaceAllStringFunc(strings.ReplaceAll(m[1], ".?", "."), func(index string) string {
		if key := textIndex.FindStringSubmatch(index)[1]; !identifier.MatchString(key) {
			return ".`" + key + "`"
		}
		return "." + textIndex.FindStringSubmatch(index)[1]
	})
	if path == m[1] || strings.ContainsAny(path, "[]?") || !strings.Contains(path, ".") {
		return ""
	}
	return "write has(" + path + ")"
}

func plainType(text string) string {
	r := typeReader{rest: text}
	return r.next()
}

// explainCall explains arguments that a function or operator does not take.
func explainCall(i *Issue, name string, s signature) {
	args := strings.Join(s.args, ", ")
	if s.target == "" {
		i.called, i.arguments = name, s.args
	}
	symbol, isOperator := operators.FindReverse(name)
	switch {
	case name == operators.Conditional:
		explainChoice(i, s.args)
		return
	case (name == operators.Index || name == operators.OptIndex) && len(s.args) == 2:
		i.Message = fmt.Sprintf("a %s has no [...] with a %s", s.args[0], s.args[1])
		return
	case name == operators.OptSelect && len(s.args) > 0:
		i.Message = fmt.Sprintf("a value of type %s has no fields", s.args[0])
		return
	case isOperator && symbol != "":
		i.Message = fmt.Sprintf("'%s' does not take (%s)", symbol, args)
	case s.target != "" && len(s.args) == 0:
		i.Message = fmt.Sprintf("a %s has no %s()", s.target, name)
	case s.target != "":
		i.Message = fmt.Sprintf("%s() of %s does not take (%s)", name, s.target, args)
	default:
		i.Message = fmt.Sprintf("%s() does not take (%s)", name, args)
	}
	i.Hint = hintCall(name, s)
}

// ofQuantities are what to write instead of operators on quantities.
var ofQuantities = map[string]string{
	operators.Add: "write a.add(b)", operators.Subtract: "write a.sub(b)", operators.Less: "write a.isLessThan(b)",
	operators.Greater:    "write a.isGreaterThan(b)",
	operators.LessEquals: "write !a.isGreaterThan(b)", operators.GreaterEquals: "write !a.isLessThan(b)",
}

// hintCall says how to call a function that was called with other arguments, or "".
func hintCall(name string, s signature) string {
	isOptional := func(t string) bool { return strings.HasPrefix(t, "optional ") }
	switch {
	case isOptional(s.target) && name != "orValue" && name != "or", s.target == "" &&
		slices.ContainsFunc(s.args, isOptional):
		return "give it a default with orValue() first"
	case ofQuantities[name] != "" && slices.Equal(s.args, []string{"quantity", "quantity"}):
		return ofQuantities[name]
	case name == "string" && len(s.args) == 1 && (strings.HasPrefix(s.args[0], "list") ||
		strings.HasPrefix(s.args[0], "map")):
		return "write json.marshal(...), or join(\",\") for a list of texts"
	case name == "quantity" && len(s.args) == 1 && isInteger(s.args[0]):
		return "write quantity(string(...))"
	case name == "sum" && s.target == "list of string":
		return "write list.map(x, int(x)).sum() for numbers, list.join() for texts"
	case name == operators.Add && len(s.args) == 2 && slices.Contains(s.args, "string"):
		other := s.args[0]
		if other == "string" {
			other = s.args[1]
		}
		if isInteger(other) || other == "number" || other == "boolean" {
			return "to join texts, write string(...) around the " + other
		}
	case name == "contains" && strings.HasPrefix(s.target, "list"):
		return "write value in list"
	case (name == "merge" || name == "deepMerge") && s.target != "":
		return "write " + name + "(a, b)"
	case name == MergeApply:
		return `write mergeApply("v1/PodTemplateSpec", a, b)`
	case name == "mergeBy":
		return `write mergeBy(list, list, "field")`
	case name == "base64.encode" && slices.Equal(s.args, []string{"string"}):
		return "write base64.encode(bytes(...))"
	}
	return ""
}

func isInteger(name string) bool {
	return name == plainTypes["int"] || name == plainTypes["uint"]
}

// explainChoice explains a conditional with these operands.
func explainChoice(i *Issue, args []string) {
	if len(args) != 3 {
		return
	}
	if args[0] != "boolean" && args[0] != "any" {
		i.Message = fmt.Sprintf("the condition must be true or false, but is of type %s", args[0])
		return
	}
	i.Message = fmt.Sprintf("the two sides of ? : are %s and %s", args[1], args[2])
	if strings.HasPrefix(args[1], "optional ") != strings.HasPrefix(args[2], "optional ") {
		i.Hint = "write optional.of(...) on the other side, or, to leave a field out, null instead of optional.none()"
	}
}

// isNamespace reports whether functions are called name.something.
func (b *environment) isNamespace(name string) bool { return b.namespaces[name] }

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
