package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A follower follows names to the lets and definitions that they stand for.
type follower struct {
	*subject
	expressions *expressions
}

// letOf returns the let that a node names, or nil. A variable that the expression
// declares may hide a let.
func (f *follower) letOf(t *typed, e ast.Expr) *let {
	if e.Kind() != ast.IdentKind || t.locals()[e.AsIdent()] {
		return nil
	}
	return f.lets[e.AsIdent()]
}

// copiedData returns the data of the let or definition that an expression names, or nil.
func (f *follower) copiedData(src *source.Expr) *source.Node {
	name := strings.TrimSpace(src.Text)
	if l := f.lets[name]; l != nil {
		return l.src.Data
	}
	return f.definitions.data[name]
}

// constantData returns the data of the let that a node names, or the node itself.
func (f *follower) constantData(n *source.Node) *source.Node {
	for range maxDepth {
		if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 {
			break
		}
		data := f.copiedData(n.Parts[0].Expr)
		if data == nil {
			break
		}
		n = data
	}
	return n
}

// dataAt returns the data of a let that an expression selects, or nil.
func (f *follower) dataAt(t *typed, e ast.Expr) *source.Node {
	if e.Kind() == ast.SelectKind {
		return f.dataAt(t, e.AsSelect().Operand()).At(e.AsSelect().FieldName())
	}
	if l := f.letOf(t, e); l != nil {
		return l.src.Data
	}
	return nil
}

// mentioned returns the expressions of the lets that an expression mentions.
func (f *follower) mentioned(a *ast.AST) []*source.Expr {
	var out []*source.Expr
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind && f.lets[e.AsIdent()] != nil {
			out = append(out, f.lets[e.AsIdent()].expressions()...)
		}
	}))
	return out
}

// readSame reports whether some of these expressions read a field that another one reads, directly or through lets.
// Then they may agree: nothing is known.
func (f *follower) readSame(some []*source.Expr, other *source.Expr) bool {
	if len(some) == 0 {
		return false
	}
	theirs := f.fieldsRead(other)
	return slices.ContainsFunc(f.fieldsRead(some...), func(a string) bool {
		return slices.ContainsFunc(theirs, func(b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) })
	})
}

// fieldsRead returns the paths of the fields that expressions read, each with a dot at its end.
func (f *follower) fieldsRead(all ...*source.Expr) (paths []string) {
	seen := map[*source.Expr]bool{}
	for len(all) > 0 {
		t := f.expressions.checked(all[0])
		all = all[1:]
		if t == nil || seen[t.src] {
			continue
		}
		seen[t.src] = true
		within := map[int64]bool{}
		ast.PreOrderVisit(t.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if operand := expr.Operand(e); operand != e {
				within[operand.ID()] = true
				if !within[e.ID()] {
					paths = append(paths, fieldPath(e)+".")
				}
			}
		}))
		all = append(all, f.mentioned(t.ast)...)
	}
	return paths
}

// fieldPath returns the path of a selection, or of what it begins with.
func fieldPath(e ast.Expr) string {
	switch {
	case e.Kind() == ast.IdentKind:
		return e.AsIdent()
	case e.Kind() == ast.SelectKind:
		return fieldPath(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName()
	case expr.Operand(e) != e:
		if name, ok := expr.LiteralString(e.AsCall().Args()[1]); ok {
			return fieldPath(expr.Operand(e)) + "." + name
		}
		return fieldPath(expr.Operand(e))
	}
	return ""
}

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

// isOfOtherKinds reports whether an expression selects a field of self with .? that only other kinds of the rule have.
func (r *omissions) isOfOtherKinds(t *typed, e ast.Expr) bool {
	if !isCall(e, operators.OptSelect) {
		return false
	}
	args := e.AsCall().Args()
	key, literal := expr.LiteralString(args[1])
	o := r.all.object(t.typeOf(args[0]))
	if literal && o != nil && o.parts != nil && r.all.fieldType(o.parts[0], key) == nil {
		return true
	}
	return r.isOfOtherKinds(t, args[0])
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
