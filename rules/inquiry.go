package rules

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An Inquiry is an expression outside of the rules, which reads what the expressions of
// one rule read.
type Inquiry struct {
	rule *Rule
	prog *expr.Program
}

// An Answer is the value of an inquiry.
type Answer struct {
	Value any      // as a decoder of JSON returns it
	Gone  bool     // the value is an empty optional
	Waits []string // what the value waits for: it is not known
}

// Inquire compiles an expression with the names of a rule, which must be valid.
func Inquire(src *syntax.Rule, e *source.Expr) (*Inquiry, []*source.Error) {
	l := &loader{broken: map[string]bool{}, said: map[source.Pos]bool{}, told: map[mistake]bool{}}
	c := l.compiler(src)
	rule := c.compile()
	if rule == nil {
		return nil, l.errs
	}
	prog := c.expressions.compileIn(c.names, e, expr.Any, "expression")
	if prog == nil {
		return nil, l.errs
	}
	return &Inquiry{rule, prog}, nil
}

// Evaluate computes the answer for one primary. Children are those that Input shows.
func (q *Inquiry) Evaluate(in Input) (a Answer, wrong *source.Error) {
	failed := func(e *expr.Error) *source.Error { return source.NewError(e.Pos, q.rule.Name, e.Message, "") }
	defer func() {
		if v := recover(); v != nil {
			a, wrong = Answer{}, failed(&expr.Error{Pos: q.prog.Pos(),
				Message: fmt.Sprintf("internal error while evaluating (%T)", v)})
		}
	}()
	r := newRun()
	r.enter(in, q.rule.GVK)
	r.begin(q.rule, &RuleResult{Rule: q.rule})
	frame, err := interpreter.NewExecutionFrame(&r.variables)
	if err != nil {
		return Answer{}, failed(&expr.Error{Pos: q.prog.Pos(), Message: err.Error()})
	}
	defer frame.Close()
	r.frame = frame
	r.expansion.listChildren()
	v, e := q.prog.Eval(frame)
	if e != nil {
		return Answer{}, failed(e)
	}
	v, present := expr.Unwrap(v)
	if !present {
		return Answer{Gone: true}, nil
	}
	if u, waits := v.(*types.Unknown); waits {
		return Answer{Waits: r.settling.waitTrails(u)}, nil
	}
	if a.Value, err = jsonValue(v); err != nil {
		return Answer{}, failed(&expr.Error{Pos: q.prog.Pos(), Message: err.Error()})
	}
	return a, nil
}
