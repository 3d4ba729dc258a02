package infer

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// merging are the functions whose result has the fields of all arguments.
var merging = []string{"merge", "deepMerge", expr.MergeApply}

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
	case slices.Contains(merging, name) && len(slots) >= 2:
		slots = slots[len(slots)-2:] // Before them, mergeApply() has a type.
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

// Overloads infers calls of functions from their declarations.
type overloads struct {
	slots     *slots
	questions *questions
}

// call asks what the arguments and the result of a call are, by the declarations of the
// function.
func (all *overloads) call(function string, member bool, args []*slot) *slot {
	result := &slot{}
	candidates := slices.DeleteFunc(expr.Overloads(function), func(o *decls.OverloadDecl) bool {
		return len(o.ArgTypes()) != len(args) || o.IsMemberFunction() != member
	})
	all.questions.ask(func(e effort) bool {
		candidates = slices.DeleteFunc(candidates, func(o *decls.OverloadDecl) bool { return !acceptsArgs(o, args, result) })
		rest := candidates
		if e == likely && len(rest) > 1 {
			rest = slices.DeleteFunc(slices.Clone(rest), func(o *decls.OverloadDecl) bool { return !uniform(o) })
		}
		if e == guess && len(rest) > 1 {
			rest = slices.DeleteFunc(slices.Clone(rest), func(o *decls.OverloadDecl) bool { return computes(o, args) })
		}
		switch len(rest) {
		case 0:
			return len(candidates) == 0
		case 1:
			all.bind(rest[0], args, result)
			return true
		}
		all.agree(rest, args, result)
		return false
	})
	return result
}

// uniform reports whether all arguments are of one type.
func uniform(o *decls.OverloadDecl) bool {
	first := o.ArgTypes()[0]
	return !slices.ContainsFunc(o.ArgTypes(), func(t *types.Type) bool { return !t.IsExactType(first) })
}

// computes reports whether a function takes what no object holds, such as a duration, for an
// argument whose type is unknown.
func computes(o *decls.OverloadDecl, args []*slot) bool {
	for i, t := range o.ArgTypes() {
		switch required(t).Kind() {
		case types.TimestampKind, types.DurationKind, types.BytesKind, types.UintKind, types.OpaqueKind:
			if args[i].find().is == unknown {
				return true
			}
		}
	}
	return false
}

// acceptsArgs reports whether a function can take arguments, as far as they are known.
func acceptsArgs(o *decls.OverloadDecl, args []*slot, result *slot) bool {
	for i, t := range o.ArgTypes() {
		if !fits(args[i], t) {
			return false
		}
	}
	return fits(result, o.ResultType())
}

// celKinds are the kinds of CEL's types without parts.
var celKinds = map[types.Kind]kind{
	types.BoolKind: boolean, types.IntKind: integer, types.DoubleKind: number, types.StringKind: text,
	types.TimestampKind: moment,
}

// fits reports whether a value may be of a type.
func fits(s *slot, t *types.Type) bool {
	s = s.find()
	t = required(t)
	switch {
	case s.is == unknown || s.is == anything || t.Kind() == types.DynKind || t.Kind() == types.TypeParamKind ||
		t.Kind() == types.AnyKind:
		return true
	case t.Kind() == types.ListKind:
		return s.is == list && (s.inner == nil || fits(s.inner, t.Parameters()[0]))
	case t.Kind() == types.MapKind:
		return s.is == mapping || s.is == object
	case s.is == portLike:
		return t.Kind() == types.IntKind || t.Kind() == types.StringKind
	case s.is == quantity:
		return t.Kind() == types.StringKind
	case s.is == special:
		return s.name == t.TypeName()
	}
	is, scalar := celKinds[t.Kind()]
	return scalar && is == s.is
}

// required returns the type of an optional's value.
func required(t *types.Type) *types.Type {
	for t.Kind() == types.OpaqueKind && t.TypeName() == types.OptionalType.TypeName() {
		t = t.Parameters()[0]
	}
	return t
}

// bind unifies the arguments of a call with the parameters.
func (all *overloads) bind(o *decls.OverloadDecl, args []*slot, result *slot) {
	params := map[string]*slot{}
	for i, t := range o.ArgTypes() {
		all.slots.unify(args[i], slotOfType(t, params))
	}
	all.slots.unify(result, slotOfType(o.ResultType(), params))
}

// slotOfType returns a slot of a type of CEL. params are those of type parameters.
func slotOfType(t *types.Type, params map[string]*slot) *slot {
	t = required(t)
	switch t.Kind() {
	case types.TypeParamKind:
		if params[t.TypeName()] == nil {
			params[t.TypeName()] = &slot{}
		}
		return params[t.TypeName()]
	case types.ListKind:
		return newList(slotOfType(t.Parameters()[0], params))
	case types.MapKind, types.DynKind, types.AnyKind: // A map may have fields of several types.
		return &slot{}
	}
	if is, scalar := celKinds[t.Kind()]; scalar {
		return &slot{is: is}
	}
	return &slot{is: special, name: t.TypeName()}
}

// agree unifies what all candidates have in common.
func (all *overloads) agree(candidates []*decls.OverloadDecl, args []*slot, result *slot) {
	common := func(of func(*decls.OverloadDecl) *types.Type, s *slot) {
		first := required(of(candidates[0]))
		is, scalar := celKinds[first.Kind()]
		if scalar && s.find().is == unknown &&
			!slices.ContainsFunc(candidates, func(o *decls.OverloadDecl) bool { return !required(of(o)).IsExactType(first) }) {
			all.slots.unify(s, &slot{is: is})
		}
	}
	for i := range args {
		common(func(o *decls.OverloadDecl) *types.Type { return o.ArgTypes()[i] }, args[i])
	}
	common((*decls.OverloadDecl).ResultType, result)
}
