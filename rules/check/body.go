package check

import (
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// A body checks everything in a rule except the names that it declares.
type body struct {
	*subject
	expressions   *expressions
	texts         *texts
	integrity     *integrity
	walking       *walking
	namespaces    *namespaces
	templates     *templates
	primaryStatus *primaryStatus
	guarding      *guarding
}

// check checks the parts of a rule in the order in which they are evaluated.
func (b *body) check() {
	b.findExcludable()
	s := section{body: b, guard: &guard{guarding: b.guarding}, sc: b.names}
	known := selectedFacts(b.src.For.Selector)
	known = s.decision(b.src.For.When, types.BoolKind, known, b.src.For.Entry+".when").truly().and(known)
	b.namespaces.allowed()
	b.namespaces.account()
	for _, c := range b.src.Validate {
		b.prefix = c.Entry + ": "
		out := s.decision(c.Expression, types.BoolKind, known, "expression")
		s.message(c.Message, known.and(out.falsely()), "message")
		known = known.and(out.truly())
	}
	for _, l := range b.src.Lookups {
		b.prefix = l.Entry + ": "
		s.lookup(l, known)
	}
	for _, ch := range b.src.Children {
		s.child(ch, known)
	}
	for _, ch := range b.src.Finalize {
		s.child(ch, nil) // During deletion, for.when and validate are not evaluated.
	}
	b.prefix = ""
	b.templates.patch(b.names)
	s.guard.at("patch").node(b.src.Patch, known)
	b.primaryStatus.fields(b.names)
	status := s.guard.at("status")
	status.ofStatus = true
	status.node(b.src.Status, known)
	for _, c := range b.src.Conditions {
		s.condition(c, known)
	}
	b.prefix = ""
	b.primaryStatus.conditions()
	b.primaryStatus.reported()
}

// findExcludable finds the children that may be excluded by their when. A child with forEach or replicas is then an
// empty list, which everybody can read.
func (b *body) findExcludable() {
	b.excludable = map[string]*syntax.Child{}
	for _, ch := range slices.Concat(b.src.Children, b.src.Finalize) {
		b.prefix = ch.Entry + ": "
		b.expressions.want(ch.When, b.names, types.BoolKind, "when")
	}
	b.prefix = ""
	for _, ch := range b.src.Children {
		if ch.When != nil && ch.Replicas == nil && len(ch.ForEach) == 0 && b.integrity.isIntact(ch.When) {
			b.excludable[ch.ID.Value] = ch
		}
	}
}

// scope returns the scope of the rule, with more names.
func (b *body) scope(more map[string]*types.Type) *expr.TypedScope {
	if len(more) == 0 {
		return b.names
	}
	s := b.names.Nested()
	for name, t := range more {
		s.Declare(name, t)
	}
	return s
}
