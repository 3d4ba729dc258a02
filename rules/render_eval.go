package rules

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// eval evaluates an expression of the rule. All expressions go through it.
func (r *run) eval(p *expr.Program) (ref.Val, *expr.Error) {
	v, err := p.Eval(r.frame)
	if r.in.Coverage != nil && (err != nil || !types.IsUnknown(v)) {
		r.in.Coverage.note(r.rule.expressionOf(p))
	}
	return v, err
}

// truth evaluates an expression to true or false.
func (r *run) truth(p *expr.Program) (bool, result) {
	v, err := r.eval(p)
	if err != nil {
		return false, result{err: err}
	}
	v, ok := unwrap(v)
	if !ok {
		return false, result{err: &expr.Error{Pos: p.Pos(), Message: "must be true or false, but the value is absent"}}
	}
	switch v := v.(type) {
	case types.Bool:
		return bool(v), result{}
	case *types.Unknown:
		return false, result{unknown: v}
	}
	return false, result{err: &expr.Error{Pos: p.Pos(), Message: "must be true or false, got " + typeName(v)}}
}

// count evaluates an expression to a whole number with the minimum least. It fails
// the child on any other value.
func (r *run) count(c *ChildResult, p *expr.Program, where string, least int64) int {
	v, err := r.eval(p)
	if err != nil {
		r.settleAll(c, where, result{err: err})
		return int(least)
	}
	message := "must be a whole number, but the value is absent"
	if v, ok := unwrap(v); ok {
		switch v := v.(type) {
		case *types.Unknown:
			r.settleAll(c, where, result{unknown: v})
			return int(least)
		case types.Int:
			if int64(v) >= least && v <= maxChildren {
				return int(v)
			}
			message = fmt.Sprintf("must be at least %d and at most %d", least, maxChildren)
		default:
			message = "must be a whole number, got " + typeName(v)
		}
	}
	r.settleAll(c, where, result{err: &expr.Error{Pos: p.Pos(), Message: message}})
	return int(least)
}

// A result is the reason why a value could not be computed. Its zero value is
// success.
type result struct {
	unknown *types.Unknown
	err     *expr.Error
}

func (res result) ok() bool { return res.unknown == nil && res.err == nil }

// unwrap returns the value of an optional, or nil and false if it is empty.
func unwrap(v ref.Val) (ref.Val, bool) {
	for {
		o, ok := v.(*types.Optional)
		if !ok {
			return v, true
		}
		if !o.HasValue() {
			return nil, false
		}
		v = o.GetValue()
	}
}

// printed returns the string form of a value inside text, or the reason why it has
// none.
func printed(v ref.Val) (s, why string) {
	v, ok := unwrap(v)
	if !ok {
		return "", "an absent value cannot be part of text: give it a default with orValue()"
	}
	switch v := v.(type) {
	case types.String:
		return string(v), ""
	case types.Bool, types.Int, types.Uint, types.Double, types.Timestamp, types.Duration:
		if text, ok := v.ConvertToType(types.StringType).(types.String); ok {
			return string(text), ""
		}
	}
	return "", typeName(v) + " cannot be part of text"
}

// typeName returns the name of a value's type in messages.
func typeName(v ref.Val) string {
	switch name := v.Type().TypeName(); name {
	case "null_type":
		return "null"
	case "map", "list":
		return "a " + name
	default:
		return name
	}
}

// asError converts the error in a value.
func asError(v *types.Err, pos source.Pos) *expr.Error {
	var e *expr.Error
	if errors.As(v, &e) {
		return e
	}
	return &expr.Error{Pos: pos, Message: "the value failed"}
}
