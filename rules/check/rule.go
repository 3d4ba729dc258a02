package check

import (
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
