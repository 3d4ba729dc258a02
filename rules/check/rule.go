package check

import (
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A subject is the rule that is checked, with what is known of it so far.
type subject struct {
	*shared
	src         *syntax.Rule
	kind        *schema.Kind     // of the primary, or nil
	primary     *fieldSchema     // likewise
	names       *expr.TypedScope // the variables
	definitions *definitions     // those beside the rule
	// declared are the names of the variables, and objects those of lookups and
	// children.
	declared, objects nameSet
	lets              map[string]*let
	entryOf           map[*source.Expr]*entry // of the expressions in lets that are maps
	typed             map[*source.Expr]*typed
	damage            damage
	prefix            string // of complaints, as the compiler writes it

	// excludable are the children that a when may exclude, by id.
	excludable map[string]*syntax.Child
}

// A nameSet is a set of names.
type nameSet map[string]bool

func (s nameSet) has(name string) bool { return s[name] }

// A rule is the check of one rule. Each of its parts uses only those above it.
type rule struct {
	subject
	reporter      reporter
	kinds         kinds
	operations    operations
	expressions   expressions
	texts         texts
	declarations  declarations
	follower      follower
	integrity     integrity
	omissions     omissions
	absences      absences
	scalars       scalars
	merges        merges
	walking       walking
	namespaces    namespaces
	templates     templates
	primaryStatus primaryStatus
	guarding      guarding
	body          body
}

// newRule returns a rule with its names declared.
func (c *checker) newRule(src *syntax.Rule) *rule {
	r := &rule{subject: subject{
		shared: &c.shared, src: src, definitions: c.definitions(src.Definitions), damage: c.damages[src.Name.Value],
		declared: nameSet{}, objects: nameSet{}, lets: map[string]*let{},
		entryOf: map[*source.Expr]*entry{}, typed: map[*source.Expr]*typed{},
	}}
	r.connect()
	r.declarations.declareAll()
	return r
}

// connect gives each part those that it uses.
func (r *rule) connect() {
	s := &r.subject
	r.reporter = reporter{s}
	r.kinds = kinds{s, &r.reporter}
	r.operations = operations{s, &r.reporter}
	r.expressions = expressions{s, &r.reporter, &r.kinds, &r.operations}
	r.texts = texts{s, &r.reporter, &r.expressions}
	r.declarations = declarations{s, &r.kinds, &r.expressions, &r.texts}
	r.follower = follower{s, &r.expressions}
	r.integrity = integrity{s, &r.expressions, &r.follower, map[*source.Expr]bool{}}
	r.omissions = omissions{s, &r.expressions, &r.follower}
	r.absences = absences{subject: s, reporter: &r.reporter}
	r.scalars = scalars{s, &r.reporter}
	r.merges = merges{s, &r.reporter, &r.follower}
	r.walking = walking{
		s, &r.reporter, &r.kinds, &r.expressions, &r.texts, &r.follower, &r.omissions, &r.scalars, &r.merges,
	}
	r.namespaces = namespaces{s, &r.reporter, &r.expressions}
	r.templates = templates{
		s, &r.reporter, &r.expressions, &r.follower, &r.omissions, &r.walking, &r.namespaces, map[*source.Node]bool{},
	}
	r.primaryStatus = primaryStatus{s, &r.reporter, &r.expressions, &r.scalars, &r.walking}
	r.guarding = guarding{s, &r.reporter, &r.expressions, &r.follower, &r.omissions, &r.absences, work{}}
	r.body = body{
		s, &r.expressions, &r.texts, &r.integrity, &r.walking, &r.namespaces, &r.templates, &r.primaryStatus, &r.guarding,
	}
}

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
	b.prefix = ""
	b.templates.common(b.names)
	inCommon := known
	if len(b.src.Finalize) > 0 {
		inCommon = nil // An entry of finalize has it, too.
	}
	s.guard.at("commonMetadata").node(b.src.CommonMetadata, inCommon)
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
