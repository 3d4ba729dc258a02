package rules

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// An evaluator evaluates the expressions of a rule.
type evaluator struct{ *runState }

// eval evaluates an expression of the rule. All expressions go through it.
func (r *evaluator) eval(p *expr.Program) (ref.Val, *expr.Error) {
	var outer *evaluation
	if r.in.Trace != nil {
		outer = r.in.Trace.begin(r.evaluated(p))
	}
	v, err := p.Eval(r.frame)
	if r.in.Trace != nil {
		r.in.Trace.end(outer, v, err)
	}
	if r.in.Coverage != nil && (err != nil || !types.IsUnknown(v)) {
		if r.in.Coverage.noteRun(r.rule.expressionOf(p)) {
			r.in.Coverage.noteDefinitions(p.Uses())
		}
	}
	return v, err
}

// evalPresent evaluates an expression whose value must not be absent: absent is the
// message then.
func (r *evaluator) evalPresent(p *expr.Program, absent string) (ref.Val, result) {
	v, err := r.eval(p)
	if err != nil {
		return nil, result{err: err}
	}
	v, ok := expr.Unwrap(v)
	if !ok {
		return nil, failedAt(p.Pos(), absent)
	}
	if u, ok := v.(*types.Unknown); ok {
		return nil, result{unknown: u}
	}
	return v, result{}
}

// evalBool evaluates an expression to true or false.
func (r *evaluator) evalBool(p *expr.Program) (bool, result) {
	v, res := r.evalPresent(p, "must be true or false, but the value is absent")
	yes, ok := v.(types.Bool)
	if res.ok() && !ok {
		res = failedAt(p.Pos(), "must be true or false, got "+expr.TypeOfValue(v))
	}
	return bool(yes), res
}

// wholeNumber evaluates an expression to a whole number from least to the number of objects that a child
// may have. It returns least for any other value.
func (r *evaluator) wholeNumber(p *expr.Program, least int, of *Child) (int, result) {
	v, res := r.evalPresent(p, "must be a whole number, but the value is absent")
	if !res.ok() {
		return least, res
	}
	switch n, ok := expr.Whole(v); {
	case !ok:
		return least, failedAt(p.Pos(), "must be a whole number, got "+expr.TypeOfValue(v))
	case n < types.Int(least) || n > types.Int(of.mostObjects()):
		why := fmt.Sprintf("must be at least %d and at most %d", least, of.mostObjects())
		if n > 0 {
			why += of.howToRaise()
		}
		return least, failedAt(p.Pos(), why)
	default:
		return int(n), res
	}
}

// A result is the reason why a value could not be computed. Its zero value is
// success.
type result struct {
	unknown *types.Unknown
	err     *expr.Error
}

func (res result) ok() bool { return res.unknown == nil && res.err == nil }

func failedAt(pos source.Pos, message string) result {
	return result{err: &expr.Error{Pos: pos, Message: message}}
}

// asError converts the error in a value.
func asError(v *types.Err, pos source.Pos) *expr.Error {
	var e *expr.Error
	if errors.As(v, &e) {
		return e
	}
	return &expr.Error{Pos: pos, Message: "the value failed"}
}
