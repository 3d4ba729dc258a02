package infer

import (
	"slices"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

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
