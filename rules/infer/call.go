package infer

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// merging are the functions whose result has the fields of all arguments.
var merging = []string{"merge", "deepMerge", "mergePodTemplate"}

// function returns the name of the function of a call, and whether it is called on a value:
// lists.range is parsed as a call on a value of the name lists.
func (r *reader) function(c ast.CallExpr, sc *scope) (name string, member bool) {
	name = c.FunctionName()
	if !c.IsMemberFunction() || c.Target().Kind() != ast.IdentKind {
		return name, c.IsMemberFunction()
	}
	if of := c.Target().AsIdent(); !sc.has(of) && len(expr.Overloads(of+"."+name)) > 0 {
		return of + "." + name, false
	}
	return name, true
}

func (r *reader) call(e ast.Expr, c ast.CallExpr, sc *scope) value {
	name, member := r.function(c, sc)
	if !member {
		if v, known := r.ownCall(e, c, sc); known {
			return v
		}
	}
	var args []value
	if member {
		args = append(args, r.eval(c.Target(), sc))
	}
	for _, arg := range c.Args() {
		args = append(args, r.eval(arg, sc))
	}
	var slots []*slot
	for _, arg := range args {
		slots = append(slots, arg.slot)
	}
	switch {
	case name == "orValue" && len(args) == 2:
		return r.orValue(args[0], args[1])
	case name == operators.Equals || name == operators.NotEquals:
		r.compared(args[0], args[1], e)
		r.compared(args[1], args[0], e)
	case name == operators.In:
		r.chosen(args[0], args[1], e)
		r.questions.within(slots[0], slots[1])
		if key, known := args[0].literal.(string); known {
			r.questions.mayHave(slots[1], key, r.pos(e))
		}
		return value{slot: &slot{is: boolean}}
	case slices.Contains(merging, name):
		for _, s := range slots[1:] {
			r.slots.unify(slots[0], s)
		}
		slots[0].find().merged = true
		return value{slot: slots[0]}
	case name == operators.Negate && args[0].literal != nil:
		return negated(args[0])
	}
	return value{slot: r.overloads.call(name, member, slots), optional: name == "optional.of" || name == "optional.none"}
}

func negated(v value) value {
	switch n := v.literal.(type) {
	case int64:
		v.literal = -n
	case float64:
		v.literal = -n
	}
	return v
}

// ownCall infers the calls that are no calls of functions of CEL.
func (r *reader) ownCall(e ast.Expr, c ast.CallExpr, sc *scope) (value, bool) {
	args := c.Args()
	switch name := c.FunctionName(); name {
	case operators.OptSelect:
		key, _ := args[1].AsLiteral().(types.String)
		return r.optionalField(e, r.eval(args[0], sc), string(key)), true
	case operators.Index, operators.OptIndex:
		return r.step(e, r.eval(args[0], sc), r.eval(args[1], sc), name == operators.OptIndex), true
	case string(expr.Existing):
		return r.eval(args[0], sc), true
	case string(expr.ByKey):
		of := r.eval(args[0], sc).slot.find()
		return value{slot: &slot{is: mapping, inner: of.inner}}, true
	case string(expr.Exists), string(expr.Included):
		return value{slot: &slot{is: boolean}}, true
	default:
		if def := r.functions[name]; def != nil && len(def.Params) == len(args) {
			return r.defined(def, args, sc), true
		}
	}
	return value{}, false
}

// step infers a[b] and a[?b].
func (r *reader) step(e ast.Expr, of, key value, optional bool) value {
	if name, known := key.literal.(string); known && of.slot.find().is != mapping {
		if optional {
			return r.optionalField(e, of, name)
		}
		return r.field(e, of, name, false)
	}
	if s := of.slot.find(); s.is == object && s.schema == nil && key.at != nil {
		for name := range s.fields {
			key.at.find().choose(name, r.pos(e))
		}
	}
	out := &slot{}
	r.questions.index(of.slot, key.slot, out)
	return value{slot: out, optional: optional || of.optional}
}

// orValue infers x.orValue(y).
func (r *reader) orValue(of, other value) value {
	r.slots.unify(of.slot, other.slot)
	if of.optional && of.at != nil && other.literal != nil {
		f := of.at.find()
		f.defaulted++
		f.defaults = append(f.defaults, other.literal)
	}
	return value{slot: of.slot, at: of.at}
}

// compared notes a literal that a field is compared with. A comparison with null asks whether
// the field has a value.
func (r *reader) compared(of, with value, e ast.Expr) {
	if of.at == nil {
		return
	}
	if with.null && !of.optional {
		of.at.find().compareWithNull(of.read)
	}
	if choice, isText := with.literal.(string); isText && choice != "" {
		of.at.find().choose(choice, r.pos(e))
	}
}

// chosen notes the literals of a list that a field may be in.
func (r *reader) chosen(of, in value, e ast.Expr) {
	choices, _ := in.literal.([]any)
	for _, choice := range choices {
		r.compared(of, value{literal: choice}, e)
	}
}

// defined infers the call of a function of define.
func (r *reader) defined(def *definition, args []ast.Expr, sc *scope) value {
	if r.depth > maxDepth {
		return value{slot: &slot{}}
	}
	r.depth++
	defer func() { r.depth-- }()
	inner := def.scope.nested()
	for i, p := range def.Params {
		v := r.eval(args[i], sc)
		inner.names[p.Name] = func() value { return v }
	}
	if def.Expr != nil {
		return r.expression(def.Expr, inner)
	}
	return r.data(def.Data, inner)
}
