package check

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/source"
)

// madeKey begins the path of what a child is made of, among the facts. No field of the
// primary has such a path.
const madeKey = "made" + step + step

// A made value is a part of the template of a child, and what it is made for: an expression
// that reads a field waits until the object has it.
type made struct {
	node *source.Node // nil: the template does not say
	own  bool         // of a kind of Kubernetes, which drops empty maps and lists
}

// child returns the value of a child with one object, or nil.
func (r *rule) child(id string) *value {
	for _, c := range r.entries() {
		if c.ID.Value == id && c.Replicas == nil && len(c.ForEach) == 0 {
			k := r.set.Kind(gvkOf(c.Template))
			return &value{key: madeKey + id, shown: id, made: &made{c.Template, k != nil && !k.Custom}}
		}
	}
	return nil
}

// field returns a field of a part of a template, with the let put in that it names.
func (m *made) field(r *rule, name string) *made {
	n := m.node.At(name)
	for range maxDepth {
		if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 {
			break
		}
		data := r.copiedData(n.Parts[0].Expr)
		if data == nil {
			break
		}
		n = data
	}
	return &made{n, m.own}
}

// lacking warns about a field of a child that the template of the child may leave out: the
// expression waits for it as long as it does.
func (g *guard) lacking(e ast.Expr, operand *value, name string, field *value, f facts) {
	copied := g.t.ast.Expr().ID() == e.ID() && g.ofStatus
	if g.quiet || copied || f.include(field.key) || !g.rule.mayLackNode(field.made.node, field.made.own, 0) {
		return
	}
	w := g.rule.complaint(g.t.pos(e), "%s: the template of %s may leave out %s, and this waits as long as it does: write ", g.where, operand.root(), field.shown)
	g.warn(w)
	field.flaw = newFlaw(w, operand, e, name)
}

// mayLackNode reports whether a value in a template shows that it may be left out: it may
// be absent, or be an empty map or list of a kind of Kubernetes, which drops them.
func (r *rule) mayLackNode(n *source.Node, own bool, depth int) bool {
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
		t := r.checked(n.Parts[0].Expr)
		return t != nil && (r.mayBeAbsent(t, t.ast.Expr(), depth) || own && r.mayBeEmpty(t, t.ast.Expr(), depth))
	}
	return false
}

// mayBeEmpty reports whether an expression shows that it may give an empty map or list.
func (r *rule) mayBeEmpty(t *typed, e ast.Expr, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if l := r.letOf(t, e); l != nil && l.src.Expr != nil {
		own := r.checked(l.src.Expr)
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
