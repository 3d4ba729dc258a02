package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A flaw is a field that may be absent, on the path of a value. It advises how to read
// the fields below it as well.
type flaw struct {
	warning *source.Error
	says    string // the message up to the advice
	advice  string
	node    int64 // the expression that the advice replaces
}

// covers reports whether the advice replaces an expression.
func (w *flaw) covers(e ast.Expr) bool { return w != nil && w.node == e.ID() }

// extend includes a step in the advice.
func (w *flaw) extend(e ast.Expr, step string) {
	w.node = e.ID()
	w.advice += step
	w.warning.Message = w.says + w.advice + ".orValue(...)"
}

// test replaces the advice for has() of a field below.
func (w *flaw) test(e ast.Expr, step string) {
	w.node = e.ID()
	w.warning.Message = w.says + w.advice + step + ".hasValue()"
}

// compareNull advises how to ask for the value that is compared with null, which an absent
// field has not.
func (w *flaw) compareNull(op string) {
	not := ""
	if op == operators.Equals {
		not = "!"
	}
	w.warning.Message = w.says + not + w.advice + ".hasValue()"
}

// absent warns about a field that may be absent.
func (g *guard) absent(e ast.Expr, t *types.Type, operand *value, name string, field *value, f facts) {
	if field.made != nil {
		g.lacking(e, operand, name, field, f)
		return
	}
	if g.quiet || field.flaw != nil || f.include(field.key) || field.key == "" && operand.shown == "" {
		return
	}
	o := g.all.object(t)
	pos := expr.Position(g.t.src, g.t.ast, e.ID())
	if o != nil && o.parts != nil && g.all.fieldType(o.parts[0], name) == nil {
		w := g.reporter.complaint(pos, "%s: %sno field %s; write ", g.where, lacking,
			strings.TrimPrefix(field.shown, "self."))
		g.absences.keep(w)
		field.flaw = newFlaw(w, operand, e, name)
		return
	}
	if field.ofStatus || o == nil && t.Kind() != types.MapKind || o != nil && !o.optional(name) {
		return
	}
	if field.key == "self"+step+"spec" && g.kind.Custom {
		g.absences.withoutSpec()
		return
	}
	w := g.reporter.complaint(pos, "%s: %s may be absent: write ", g.where, field.shown)
	g.warn(w)
	field.flaw = newFlaw(w, operand, e, name)
}

func newFlaw(w *source.Error, operand *value, e ast.Expr, name string) *flaw {
	f := &flaw{warning: w, says: w.Message, advice: operand.shown}
	f.extend(e, optionalStep(name))
	return f
}

// selectedFacts returns the facts that the selector of the primaries implies.
func selectedFacts(selector *source.Node) (known facts) {
	self := &value{key: "self"}
	labels := self.below("metadata").below("labels")
	if matched := selector.At("matchLabels"); matched != nil {
		for _, f := range matched.Fields {
			known = known.with(labels.below(f.Key.Value))
		}
	}
	if required := selector.At("matchExpressions"); required != nil {
		for _, item := range required.Items {
			if operator := item.At("operator").Literal().Value; operator == "In" || operator == "Exists" {
				known = known.with(labels.below(item.At("key").Literal().Value))
			}
		}
	}
	return known
}

// optionalStep returns an optional selection as it is written.
func optionalStep(name string) string {
	return ".?" + strings.TrimPrefix(shownStep(name), ".")
}

// shownStep returns a selection as it is written.
func shownStep(name string) string {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return ".`" + name + "`"
		}
	}
	return "." + name
}

// Absences keeps the warnings about fields that may be absent, until it is known whether all
// guards of the rule are known.
type absences struct {
	*subject
	reporter *reporter

	kept     []*source.Error
	specless *source.Error // the warning that the CRD does not require spec, or nil
}

func (a *absences) keep(e *source.Error) { a.kept = append(a.kept, e) }

// withoutSpec keeps the warning that the CRD of the primary does not require spec.
// Expressions are checked as if it did: a guard wherever spec is read would not help.
func (a *absences) withoutSpec() {
	kind := a.src.For.Kind
	outer := a.prefix
	a.prefix = ""
	a.specless = a.reporter.complaint(kind.Pos, "%s.kind: the CRD of %s does not require spec, so self.spec may be absent",
		a.src.For.Entry, kind.Value)
	a.prefix = outer
	a.specless.Check = lint.AbsentField
	a.specless.Hint = "add required: [spec] to its schema, beside properties"
}

// say adds the warnings about absent fields. That about a CRD is given once.
func (a *absences) say() {
	if a.specless != nil && !a.ledger.speclessKinds[a.kind.GVK] {
		a.ledger.speclessKinds[a.kind.GVK] = true
		a.ledger.say(&a.ledger.found.Warnings, a.specless)
	}
	for _, e := range a.kept {
		if c, _ := lint.Named(e.Check); e.Check == "" || c.Certain { // Without a name: one of the kinds lacks the field.
			a.ledger.say(&a.ledger.found.Errors, e)
			continue
		}
		a.ledger.say(&a.ledger.found.Warnings, e)
	}
}

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
