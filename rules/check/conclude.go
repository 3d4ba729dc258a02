package check

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
)

// function handles all other calls.
func (g *guard) function(c ast.CallExpr, f facts) outcome {
	if out, known := g.included(c, f); known {
		return out
	}
	var target outcome
	if c.IsMemberFunction() {
		target = g.read(c.Target(), f)
	}
	ran := target.ran
	args := make([]outcome, len(c.Args()))
	for i, arg := range c.Args() {
		args[i] = g.read(arg, f)
		ran = ran.and(args[i].ran)
	}
	out := g.result(c, target, args, f)
	out.ran = ran
	if c.FunctionName() == "orValue" || c.FunctionName() == "or" {
		out.ran = target.ran // The argument may not be evaluated.
	}
	return out
}

// result returns what is known about the result of a call.
func (g *guard) result(c ast.CallExpr, target outcome, args []outcome, f facts) outcome {
	switch name := c.FunctionName(); {
	case name == "dyn" || name == entriesFunction || name == "optional.of":
		return args[0]
	case name == "hasValue":
		return outcome{yes: facts(nil).with(target.value)}
	case name == "value":
		g.taken(c.Target(), target.value, f)
		return outcome{value: target.value}
	case name == "orValue":
		return withDefault(c, target)
	case compareTexts[name] != nil && c.IsMemberFunction() && len(args) == 1:
		a, present := g.absentValue(c.Target(), f)
		b := literalValue(c.Args()[0])
		x, isText := a.(types.String)
		if y, literal := b.(types.String); isText && literal {
			yes, no := unless(compareTexts[name](string(x), string(y)), present)
			return outcome{yes: yes, no: no}
		}
	case expr.Reorders(name):
		return outcome{value: target.value}
	case name == "first" || name == "last":
		return outcome{value: target.element()}
	case name == "flatten" && target.value != nil && target.made == nil:
		return outcome{value: &value{elem: target.element().element()}}
	case name == operators.Add && len(args) == 2 && args[0].value != nil && args[0].made == nil && args[1].value != nil &&
		args[1].made == nil:
		return outcome{value: &value{}}
	}
	return outcome{}
}

// taken warns about the value() of an optional that may be absent.
func (g *guard) taken(e ast.Expr, v *value, f facts) {
	if v == nil || v.made != nil || v.key == "" || f[v.key] {
		return
	}
	g.warnf(g.t.pos(e), "%s: %s may be absent: write orValue(...) instead of value()", g.where, v.shown)
}

// withDefault handles orValue(). Its result does not tell whether the default was
// used, except that an empty list has no elements and an empty map no keys.
func withDefault(c ast.CallExpr, target outcome) outcome {
	if target.value == nil {
		if isBool(c.Args()[0], types.False) {
			return outcome{yes: target.yes}
		}
		return outcome{}
	}
	present := facts(nil).with(target.value)
	if target.made != nil {
		return outcome{} // Nothing is known of a default.
	}
	out := outcome{}
	switch v := literalValue(c.Args()[0]).(type) {
	case types.Bool:
		if v {
			out.no = present
		} else {
			out.yes = present
		}
	case traits.Lister:
		out.value = &value{elem: target.elem, each: target.each, key: target.key}
	case traits.Mapper:
		out.value = &value{key: target.key}
	}
	return out
}

// comprehension handles loops, and the names that bind() and optMap() declare.
func (g *guard) comprehension(c ast.ComprehensionExpr, f facts) outcome {
	mark := len(g.vars)
	defer func() { g.vars = g.vars[:mark] }()
	if expr.IsBind(c) {
		init := g.eval(c.AccuInit(), f)
		if init.value != nil && init.shown == "" {
			init.value = &value{key: init.key, shown: c.AccuVar(), elem: init.elem, each: init.each, made: init.made}
		}
		g.vars = append(g.vars, named{c.AccuVar(), init.value})
		out := g.eval(c.Result(), f)
		out.ran = out.ran.and(init.ran)
		return out
	}
	over := g.eval(c.IterRange(), f)
	name := c.IterVar()
	if c.HasIterVar2() {
		name = c.IterVar2()
		g.vars = append(g.vars, named{c.IterVar(), nil})
	}
	item, known := g.work.bind(over.value, name, f)
	g.vars = append(g.vars, named{c.AccuVar(), nil}, named{name, item})
	f = f.and(known)
	g.eval(c.AccuInit(), f)
	if element, condition := collectedElement(c); element != nil {
		out := g.collect(element, condition, over.value, item, f)
		out.ran = over.ran
		return out
	}
	g.eval(c.LoopCondition(), f)
	out := findsElements(c, over.value, item, g.eval(c.LoopStep(), f))
	out.ran = over.ran
	return out
}

// collect handles map() and filter().
func (g *guard) collect(element, condition ast.Expr, over, item *value, f facts) outcome {
	var when facts
	if condition != nil {
		when = g.eval(condition, f).yes
	}
	v := g.eval(element, f.and(when))
	switch {
	case item == nil || v.value == nil:
		return outcome{}
	case v.value == item:
		return outcome{value: &value{elem: over.elem, each: append(f.and(when).below(item.key), over.each...)}}
	}
	inner := *v.value
	inner.key = ""
	return outcome{value: &value{elem: &inner}}
}

// findsElements returns what the result of exists() and all() tells about the list: for an
// empty list, exists() is false and all() is true. With these results, all elements have what the loop asks for.
func findsElements(c ast.ComprehensionExpr, over, item *value, step outcome) outcome {
	switch {
	case isBool(c.AccuInit(), types.False):
		return outcome{yes: facts(nil).with(over), no: over.ofElements(step.falsely(), item)}
	case isBool(c.AccuInit(), types.True):
		return outcome{yes: over.ofElements(step.truly(), item), no: facts(nil).with(over)}
	}
	return outcome{}
}
