package rules

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

const (
	self  = "self"  // the primary, in all expressions
	child = "child" // the child in question, in its own readyWhen and failWhen
)

// A variable is the value that a name in an expression refers to.
type variable struct {
	kind  variableKind
	index int
}

type variableKind int

const (
	letVariable variableKind = iota
	lookupVariable
	childVariable
	previousVariable   // previous() of a child
	definitionVariable // a value of define
)

// A compiler compiles one rule.
type compiler struct {
	*compilation
	expressions *expressions
	children    *childCompiler
}

// A compilation is what the parts of a compiler share.
type compilation struct {
	*loader
	src     *syntax.Rule
	rule    *Rule
	defined *expr.Definitions // those beside the rule, or nil
	uses    map[*expr.Definition]bool
	names   *expr.Scope            // self, lets, lookups and children
	scope   *expr.Scope            // names, and the iterators of the child in question
	shapes  map[string]*expr.Shape // of the values in scope
	many    map[string]bool        // the ids of children with forEach or replicas
	keyed   map[string]bool        // the ids of children that byKey() reads
	lets    map[string]*let
	looks   map[string]*Lookup
	within  map[*source.Expr]*letEntry // of the expressions in lets that are maps
	// compiling are the names of the lets and lookups on the current path of
	// compilation, outermost first. A repeated name is a cycle.
	compiling []string
	declared  map[string]bool          // the names in names
	iterated  func() map[string]string // the names of all iterators and where they are available, computed once
	// reads collects the ids of the children that expressions read, directly or
	// through lets, since readsIn replaced it.
	reads childReads
	// entriesRead is the number of entries of lets that others read.
	entriesRead int
	// inlined is the number of values in the lets that are written into templates.
	inlined int
	// prefix begins the paths in errors, as the parser prints them.
	prefix string
}

func (l *loader) compiler(src *syntax.Rule) *compiler {
	c := &compilation{
		loader: l, src: src, defined: l.definitions(src.Definitions), uses: map[*expr.Definition]bool{},
		shapes: map[string]*expr.Shape{},
		many:   map[string]bool{}, keyed: map[string]bool{}, lets: map[string]*let{}, looks: map[string]*Lookup{},
		within: map[*source.Expr]*letEntry{}, reads: childReads{},
	}
	c.rule = &Rule{
		Name: src.Name.Value, Pos: src.Pos, Origin: src.Origin, GVK: parseGVK(src.For.APIVersion.Value, src.For.Kind.Value),
		Selector: labels.Everything(), vars: map[string]variable{}, idCalls: map[string]idCall{},
		Selection: src.For.Entry, Ordered: src.Teardown.Value == "ordered", RequeueAfter: src.RequeueAfter.Value,
		finalizes:       len(src.Finalize) > 0,
		DeleteOnRemoval: src.OnRuleRemoval.Value == "delete", Annotates: src.For.Cluster ||
			src.Report.Value == syntax.ReportAnnotation,
	}
	e := &expressions{c}
	return &compiler{c, e, &childCompiler{c, e, &objectCompiler{compilation: c, expressions: e}}}
}

func (c *compiler) compile() *Rule {
	src, before := c.src, len(c.errs)
	if !c.expressions.declareNames() {
		return nil
	}
	c.compileFor()
	c.compileAllow()
	c.compileRollout()
	c.compileAccount()
	for _, l := range c.rule.lets {
		c.expressions.let(l, l.src.Name.Pos)
	}
	for _, l := range c.rule.Lookups {
		c.expressions.lookup(l, l.Pos)
	}
	c.children.objects.compileCommon()
	c.children.compileChildren()
	for _, s := range src.Validate {
		c.prefix = s.Entry + ": "
		c.compileCheck(s)
	}
	c.prefix = ""
	reads := c.expressions.readsIn(c.patch)
	for _, f := range src.Finalize {
		if _, waits := reads[f.ID.Value]; waits {
			c.expressions.complain(src.Patch.Pos,
				"patch: %q is created when the resource is deleted, so a patch cannot wait for it", f.ID.Value)
		}
	}
	c.compileStatus()
	for _, s := range src.Conditions {
		c.prefix = s.Entry + ": "
		c.compileCondition(s)
	}
	for _, ch := range c.rule.Children {
		ch.keyed = c.keyed[ch.ID]
	}
	if len(c.errs) > before || c.broken[src.Name.Value] || src.For.APIVersion.Value == "" || src.For.Kind.Value == "" {
		return nil
	}
	c.rule.expressions = inOrder(c.rule.expressions)
	c.rule.Digest = src.Digest.And(expr.DigestsOf(slices.Collect(maps.Keys(c.uses)))...)
	return c.rule
}

// declareNames declares everything that the rule's expressions may read.
func (c *expressions) declareNames() bool {
	c.shapes[self] = expr.Self(self)
	for i, s := range c.src.Let {
		l := &let{src: s, variable: s.Name.Value, where: expr.Join("let", s.Name.Value), index: i, size: nodeCount(s.Data)}
		c.rule.lets = append(c.rule.lets, l)
		if s.Unusable {
			continue
		}
		c.declareEntries(l)
		c.lets[s.Name.Value] = l
		c.rule.vars[s.Name.Value] = variable{letVariable, i}
	}
	for i, s := range c.src.Lookups {
		l := &Lookup{ID: s.ID.Value, Pos: s.Pos, GVK: parseGVK(s.APIVersion.Value, s.Kind.Value),
			gone: expr.NewUnknown(s.ID.Value), src: s}
		c.rule.Lookups = append(c.rule.Lookups, l)
		if s.Unusable {
			continue
		}
		c.looks[l.ID] = l
		c.shapes[l.ID] = expr.Live(l.ID)
		if s.Name == nil {
			c.shapes[l.ID] = expr.Items(l.ID)
			l.gone = expr.NewIncomplete(l.ID)
		}
		c.rule.vars[l.ID] = variable{lookupVariable, i}
		c.rule.idCalls[expr.Exists.Variable(l.ID)] = idCall{expr.Exists, variable{lookupVariable, i}}
	}
	for i, s := range c.entries() {
		if s.Unusable {
			continue
		}
		c.shapes[s.ID.Value] = expr.Live(s.ID.Value)
		if s.Replicas != nil || len(s.ForEach) > 0 {
			c.shapes[s.ID.Value] = expr.Items(s.ID.Value)
			c.many[s.ID.Value] = true
		}
		c.rule.vars[s.ID.Value] = variable{childVariable, i}
		previous := expr.Previous.Variable(s.ID.Value)
		c.shapes[previous] = expr.Items(previous)
		c.rule.vars[previous] = variable{previousVariable, i}
	}
	c.declared = map[string]bool{self: !c.src.For.Cluster}
	for _, name := range slices.Sorted(maps.Keys(c.rule.vars)) {
		if expr.IsType(name) {
			c.complain(c.src.Pos, "%q is the name of a CEL type", name)
			continue
		}
		c.declared[name] = true
	}
	for _, name := range c.src.Lost {
		// A second error, that the name is not declared, would not help.
		if name != child && syntax.IsName(name) && !expr.IsType(name) {
			c.declared[name], c.declared[expr.Previous.Variable(name)] = true, true
		}
	}
	maps.DeleteFunc(c.declared, func(_ string, declared bool) bool { return !declared })
	scope, err := c.newScope(slices.Collect(maps.Keys(c.declared)))
	if err != nil {
		c.complain(c.src.Pos, "the names of the rule cannot be used together: %v", err)
		return false
	}
	for _, s := range c.src.Children {
		scope = scope.ForObjects(int(s.MaxObjects))
	}
	c.names, c.scope = scope, scope
	c.iterated = sync.OnceValue(c.iterators)
	return true
}

// entries returns the entries of children and finalize.
func (c *expressions) entries() []*syntax.Child {
	return slices.Concat(c.src.Children, c.src.Finalize)
}

func (c *expressions) complain(pos source.Pos, format string, args ...any) *source.Error {
	return c.errorf(pos, c.src.Name.Value, strings.ReplaceAll(c.prefix, "%", "%%")+format, args...)
}

// childReads are the ids of children that something reads, each with the position of
// the first expression that does.
type childReads map[string]source.Pos

func (reads childReads) add(id string, pos source.Pos) {
	if _, known := reads[id]; !known {
		reads[id] = pos
	}
}

// readsIn runs compile and returns the children that the expressions in it read.
func (c *expressions) readsIn(compile func()) childReads {
	outer := c.reads
	defer func() { c.reads = outer }()
	c.reads = childReads{}
	compile()
	return c.reads
}
