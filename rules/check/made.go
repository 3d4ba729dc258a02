package check

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
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

// madeFor returns the value of a child with one object, or nil.
func madeFor(src *syntax.Rule, set *schema.Set, id string) *value {
	for _, c := range slices.Concat(src.Children, src.Finalize) {
		if c.ID.Value == id && c.Replicas == nil && len(c.ForEach) == 0 {
			k := set.Kind(gvkOf(c.Template))
			return &value{key: madeKey + id, shown: id, made: &made{c.Template, k != nil && !k.Custom}}
		}
	}
	return nil
}

// field returns a field of a part of a template, with the let put in that it names.
func (m *made) field(f *follower, name string) *made {
	return &made{f.constantData(m.node.At(name)), m.own}
}

// lacking warns about a field of a child that the template of the child may leave out: the
// expression waits for it as long as it does.
func (g *guard) lacking(e ast.Expr, operand *value, name string, field *value, f facts) {
	copied := g.t.ast.Expr().ID() == e.ID() && g.ofStatus
	if g.quiet || copied || f.include(field.key) || !g.omissions.mayLackNode(field.made.node, field.made.own, 0) {
		return
	}
	w := g.reporter.complaint(g.t.pos(e), "%s: the template of %s may leave out %s, and this waits as long as it does: "+
		"write ", g.where, operand.root(), field.shown)
	g.warn(w)
	field.flaw = newFlaw(w, operand, e, name)
}
