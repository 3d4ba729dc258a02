package check

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// Omissions says which values may be left out.
type omissions struct {
	*subject
	expressions *expressions
	follower    *follower
}

// mayBeAbsent reports whether an expression may give an absent optional, or null.
func (r *omissions) mayBeAbsent(t *typed, e ast.Expr, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if l := r.follower.letOf(t, e); l != nil && l.src.Expr != nil {
		own := r.expressions.checked(l.src.Expr)
		return own != nil && r.mayBeAbsent(own, own.ast.Expr(), depth+1)
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return e.AsLiteral() == types.NullValue
	case ast.CallKind:
		c := e.AsCall()
		args := c.Args()
		switch c.FunctionName() {
		case operators.Conditional:
			return r.mayBeAbsent(t, args[1], depth+1) || r.mayBeAbsent(t, args[2], depth+1)
		case "dyn":
			return r.mayBeAbsent(t, args[0], depth+1)
		case "optional.of":
			return false
		case operators.OptSelect:
			return r.stepMayBeAbsent(t, args, depth)
		}
	}
	_, optional := unwrapped(t.typeOf(e))
	return optional
}

// stepMayBeAbsent is mayBeAbsent for a selection with .?, which always finds a
// field that the schema requires or defaults.
func (r *omissions) stepMayBeAbsent(t *typed, args []ast.Expr, depth int) bool {
	from, optional := unwrapped(t.typeOf(args[0]))
	key, literal := expr.LiteralString(args[1])
	o := r.all.object(from)
	if !literal || o == nil || o.optional(key) {
		return true
	}
	return optional && r.mayBeAbsent(t, args[0], depth+1)
}

// mayLackNode reports whether a value in a template shows that it may be left out: it may
// be absent, or be an empty map or list of a kind of Kubernetes, which drops them.
func (r *omissions) mayLackNode(n *source.Node, own bool, depth int) bool {
	switch {
	case n == nil || depth > maxDepth:
		return false
	case n.Kind == source.Null:
		return true
	case n.Kind == source.Map && own && !n.Lacking:
		for _, f := range n.Fields {
			if !r.mayLackNode(f.Value, own, depth+1) {
				return false
			}
		}
		return true
	case n.Kind == source.List && own && !n.Lacking:
		for _, item := range n.Items {
			if !r.mayLackNode(item, own, depth+1) {
				return false
			}
		}
		return true
	case n.Kind == source.Interp && len(n.Parts) == 1:
		t := r.expressions.checked(n.Parts[0].Expr)
		return t != nil && (r.mayBeAbsent(t, t.ast.Expr(), depth) || own && r.mayBeEmpty(t, t.ast.Expr(), depth))
	}
	return false
}

// mayBeEmpty reports whether an expression shows that it may give an empty map or list.
func (r *omissions) mayBeEmpty(t *typed, e ast.Expr, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if l := r.follower.letOf(t, e); l != nil && l.src.Expr != nil {
		own := r.expressions.checked(l.src.Expr)
		return own != nil && r.mayBeEmpty(own, own.ast.Expr(), depth+1)
	}
	switch e.Kind() {
	case ast.MapKind:
		return e.AsMap().Size() == 0
	case ast.ListKind:
		return e.AsList().Size() == 0
	case ast.CallKind:
		c := e.AsCall()
		args := c.Args()
		switch c.FunctionName() {
		case operators.Conditional:
			return r.mayBeEmpty(t, args[1], depth+1) || r.mayBeEmpty(t, args[2], depth+1)
		case "orValue", "dyn", entriesFunction:
			return r.mayBeEmpty(t, args[0], depth+1)
		}
	}
	return false
}
