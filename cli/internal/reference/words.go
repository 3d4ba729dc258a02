package reference

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/syntax"
)

// A phrasing puts the expressions of one place into words.
type phrasing struct {
	rule    *syntax.Rule // nil: the expression is one of a CRD
	self    Text         // what self is as a whole
	at      string       // the path of self in the resource
	objects map[string]Text
}

// A sense says whether a condition is told, or its opposite.
type sense int

const (
	holds sense = iota
	fails
)

func (s sense) opposite() sense { return fails - s }

// choose returns the words for a sense.
func (s sense) choose(yes, no string) string {
	if s == holds {
		return yes
	}
	return no
}

// condition says when an expression is true, to follow the word if. What has no usual form
// is shown as it is written, with what it reads.
func (p *phrasing) condition(text string) Text {
	x := newExpander(p.rule)
	if root := x.expand(text, nil); root != nil {
		if words, ok := p.say(root, holds); ok {
			return words
		}
	}
	return compose(p.written(text), " is true", p.where(text))
}

// written shows an expression as it is.
func (p *phrasing) written(text string) Text { return code(oneLine(text)) }

// where says what the lets, functions and objects in an expression are.
func (p *phrasing) where(text string) Text {
	var all []Text
	for _, n := range newExpander(p.rule).behind(text) {
		if object := p.objects[n.name]; object != nil {
			all = append(all, compose(code(n.name), ": ", object))
		} else if n.text != "" {
			all = append(all, compose(code(n.title), ": ", code(n.text)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return append(compose(", where", Text{{Style: Break}}), lines(all)...)
}

// say puts a condition into words. It returns false for one without a usual form.
func (p *phrasing) say(e ast.Expr, s sense) (Text, bool) {
	if e.Kind() == ast.CallKind {
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.LogicalNot:
			return p.say(call.Args()[0], s.opposite())
		case operators.LogicalAnd, operators.LogicalOr:
			return p.sayAll(e, s)
		case operators.In:
			return p.sayIn(call, s)
		}
		if symbol, ok := comparisons[call.FunctionName()]; ok {
			return p.sayCompared(call, symbol, s)
		}
		if words, ok := p.sayCall(call, s); ok {
			return words, true
		}
	}
	v, ok := p.value(e)
	if !ok {
		return nil, false
	}
	words := compose(v.text, s.choose(" is true", " is false"))
	if truth, isBool := literalOf(v.absent).(bool); isBool && truth == (s == holds) {
		words = compose(words, " or not set")
	} else if v.absent != nil && !isBool {
		return nil, false
	}
	return words, true
}

// sayAll joins conditions. The opposite of "a and b" is "not a or not b". Two different
// words in one sentence would be ambiguous.
func (p *phrasing) sayAll(e ast.Expr, s sense) (Text, bool) {
	function := e.AsCall().FunctionName()
	var parts []Text
	for _, operand := range operands(e, function) {
		words, ok := p.say(operand, s)
		if !ok || mixes(operand, function) {
			return nil, false
		}
		parts = append(parts, words)
	}
	word := "and"
	if (function == operators.LogicalOr) == (s == holds) {
		word = "or"
	}
	return enumerate(word, parts), true
}

// operands returns what an operator joins, also over several uses of it.
func operands(e ast.Expr, function string) (all []ast.Expr) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != function {
		return []ast.Expr{e}
	}
	for _, arg := range e.AsCall().Args() {
		all = append(all, operands(arg, function)...)
	}
	return all
}

// mixes reports whether an operand of and (or of or) is told with the other word.
func mixes(e ast.Expr, function string) bool {
	other := map[string]string{operators.LogicalAnd: operators.LogicalOr, operators.LogicalOr: operators.LogicalAnd}[function]
	for e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.LogicalNot {
		e = e.AsCall().Args()[0]
		function, other = other, function
	}
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == other
}

// sayCall puts the calls into words that ask for existence, conditions and time.
func (p *phrasing) sayCall(call ast.CallExpr, s sense) (Text, bool) {
	args := call.Args()
	if call.IsMemberFunction() {
		return p.sayMember(call, s)
	}
	var values []value
	for _, arg := range args {
		v, ok := p.value(arg)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	switch {
	case call.FunctionName() == "has" && len(values) == 1:
		return compose(values[0].text, s.choose(" is set", " is not set")), true
	case call.FunctionName() == "exists" && len(values) == 1:
		return compose(values[0].text, s.choose(" exists", " does not exist")), true
	case call.FunctionName() == "isTrue" && len(values) == 2:
		name, ok := literalOf(args[1]).(string)
		return compose("the condition ", code(name), " of ", values[0].text, s.choose(" is ", " is not "), code("True")), ok
	case call.FunctionName() == "elapsed" && len(values) == 2:
		return compose(values[1].text, s.choose(" has passed since ", " has not passed since "), values[0].text), true
	}
	return nil, false
}

// textTests are functions of texts, and how they are told.
var textTests = map[string][2]string{
	"matches":    {" matches ", " does not match "},
	"startsWith": {" begins with ", " does not begin with "},
	"endsWith":   {" ends with ", " does not end with "},
	"contains":   {" contains ", " does not contain "},
}

// sayMember puts the calls into words that ask something of one value.
func (p *phrasing) sayMember(call ast.CallExpr, s sense) (Text, bool) {
	v, ok := p.value(call.Target())
	test, isTest := textTests[call.FunctionName()]
	switch args := call.Args(); {
	case !ok || v.absent != nil:
		return nil, false
	case call.FunctionName() == "hasValue" && len(args) == 0:
		return compose(v.text, s.choose(" is set", " is not set")), true
	case isTest && len(args) == 1:
		text, isText := literalOf(args[0]).(string)
		return compose(v.text, s.choose(test[0], test[1]), code(text)), isText
	}
	return nil, false
}
