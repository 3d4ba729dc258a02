package lint

import (
	"fmt"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Lint returns what the checks find, in no order. Each finding has the name of its
// check. Complaints are the errors of loading the same rules; Lint says nothing at
// their positions.
func Lint(file *syntax.File, set *schema.Set, complaints source.Errors) []*source.Error {
	l := &linter{set: set, versions: map[runtimeschema.GroupKind][]*schema.Kind{}, broken: map[source.Pos]bool{},
		said: map[finding]bool{}}
	for _, e := range complaints {
		l.broken[e.Pos] = true
	}
	for _, src := range file.Rules {
		l.rules = append(l.rules, l.rule(src))
	}
	for _, r := range l.rules {
		r.lint()
	}
	for _, defined := range file.Definitions {
		l.unusedDefinitions(defined, complaints)
	}
	return l.found
}

type linter struct {
	source.Suggester
	set      *schema.Set
	versions map[runtimeschema.GroupKind][]*schema.Kind // of the kinds that were asked for
	rules    []*rule
	broken   map[source.Pos]bool
	said     map[finding]bool
	found    []*source.Error
	values   int // the number of values visited
}

// versionsOf returns the known versions of a kind. Set.Versions visits all kinds.
func (l *linter) versionsOf(gk runtimeschema.GroupKind) []*schema.Kind {
	if _, asked := l.versions[gk]; !asked {
		l.versions[gk] = l.set.Versions(gk)
	}
	return l.versions[gk]
}

// A finding identifies what was found.
type finding struct {
	pos     source.Pos
	message string
}

// A rule is a rule with the names that its expressions may read.
type rule struct {
	*linter
	src      *syntax.Rule
	lets     map[string]*syntax.Let
	children []*child // of children and finalize
	byID     map[string]*syntax.Child
	objects  map[string]bool // the ids of lookups and children
	named    map[objectName][]*child
	lookups  map[objectName]bool   // those that name an object; of the group, only the kind is compared
	pods     func() ([]*pod, bool) // computed once
	keys     map[string]string     // of operands
	specLets map[string]bool       // the lets that read the spec of the primary
}

func (l *linter) rule(src *syntax.Rule) *rule {
	r := &rule{
		linter: l, src: src, lets: map[string]*syntax.Let{}, byID: map[string]*syntax.Child{},
		named:   map[objectName][]*child{},
		lookups: map[objectName]bool{}, objects: map[string]bool{}, keys: map[string]string{}, specLets: map[string]bool{},
	}
	r.pods = sync.OnceValues(r.findPods)
	for _, c := range src.Children {
		r.byID[c.ID.Value] = c
	}
	for _, let := range src.Let {
		if !let.Unusable {
			r.lets[let.Name.Value] = let
		}
	}
	for i, entries := range [][]*syntax.Child{src.Children, src.Finalize} {
		for _, entry := range entries {
			c := r.child(entry, i == 1)
			r.objects[entry.ID.Value] = true
			r.children = append(r.children, c)
			r.named[c.object()] = append(r.named[c.object()], c)
		}
	}
	for _, l := range src.Lookups {
		r.objects[l.ID.Value] = true
		if l.Name != nil {
			r.lookups[objectName{core(l.Kind.Value), r.value(l.Name, "name").key()}] = true
		}
	}
	return r
}

// lint runs all checks of a rule.
func (r *rule) lint() {
	r.writtenValues()
	r.sameObjects()
	r.namespaces()
	r.zeros()
	for _, c := range r.children {
		c.literalName()
		c.changesImmutable()
		c.replacesData()
		c.apiRules()
		c.valueForms()
		c.selectorLabels()
		c.selectsPods()
		c.podNames()
		c.targetPorts()
		c.misspelt()
		c.keyReferences()
		c.backendPorts()
		c.scales()
		c.scalesRendered()
	}
}

// find adds a finding. One that several paths find is added once.
func (r *rule) find(check string, pos source.Pos, format string, args ...any) *source.Error {
	e := source.NewError(pos, r.src.Name.Value, fmt.Sprintf(format, args...), "")
	e.Check = check
	key := finding{pos, e.Message}
	if len(r.src.Others) > 0 {
		key.message = check // Each kind of the rule finds it, in words of its own.
	}
	if pos.Line > 0 && !r.said[key] && !r.broken[pos] {
		r.said[key] = true
		r.found = append(r.found, e)
	}
	return e
}
