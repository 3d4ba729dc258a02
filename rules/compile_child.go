package rules

import (
	"maps"
	"slices"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A childCompiler compiles the children of a rule.
type childCompiler struct {
	*compilation
	expressions *expressions
	objects     *objectCompiler
}

// compileChildren compiles the children and sorts them by their dependencies.
func (c *childCompiler) compileChildren() {
	entries := c.expressions.entries()
	reads := make([]childReads, len(entries)) // in all but readyWhen and failWhen
	waits := make([]childReads, len(entries)) // and in after, readyWhen and failWhen
	for i, s := range entries {
		ch := &Child{ID: s.ID.Value, Rule: c.rule, Pos: s.Pos, Timeout: s.Timeout.Value, gone: expr.NewUnknown(s.ID.Value)}
		c.rule.Children = append(c.rule.Children, ch)
		c.prefix = s.Entry + ": "
		var iterators []string
		reads[i] = c.expressions.readsIn(func() {
			iterators = c.childHead(ch, s)
			c.childBody(ch, s, iterators)
		})
		waits[i] = c.expressions.readsIn(func() { c.compileReadiness(ch, s, iterators) })
		c.prefix = ""
		delete(waits[i], ch.ID) // Within readyWhen and failWhen, this id means the same as child.
		for _, name := range iterators {
			delete(c.shapes, name)
			delete(reads[i], name)
			delete(waits[i], name)
		}
		maps.Copy(waits[i], reads[i])
		for _, id := range s.After {
			waits[i][id.Value] = id.Pos
		}
	}
	c.checkDistinct()
	c.checkEarlyReads(reads)
	if order := c.orderChildren(waits); order != nil {
		c.setGates(reads, order)
	}
}

// childHead compiles what decides which objects a child has, and returns the names
// of its iterators.
func (c *childCompiler) childHead(ch *Child, s *syntax.Child) []string {
	if s.When != nil {
		ch.when = c.expressions.expression(s.When, expr.Inclusion, "when")
	}
	if s.Replicas != nil {
		ch.replicas = c.expressions.expression(s.Replicas, expr.Int, "replicas")
	}
	if s.MaxUnavailable != nil {
		ch.unavailable = c.expressions.expression(s.MaxUnavailable, expr.Int, "maxUnavailable")
	}
	var iterators []string
	ch.loop, iterators = c.compileLoop(s.ForEach)
	return iterators
}

func (c *childCompiler) childBody(ch *Child, s *syntax.Child, names []string) {
	if s.Template == nil {
		return // The parser has recorded an error.
	}
	c.setPolicies(ch, s)
	fields := map[string]*source.Node{}
	for _, f := range s.Template.Fields {
		fields[f.Key.Value] = f.Value
	}
	ch.GVK = parseGVK(fields["apiVersion"].Literal().Value, fields["kind"].Literal().Value)
	ch.allowed = slices.Contains(c.rule.allow.clusterScoped, ch.GVK.GroupKind())
	outerScope, outerPrefix := c.scope, c.prefix
	c.scope = c.expressions.scopeWith(names)
	conditions := c.ignoredWhen(s.IgnoreFields)
	generated := c.generated(s.Generate)
	c.prefix += "template."
	ch.body = c.objects.compileObject(ch, s.Template, s.IgnoreFields, conditions)
	ch.ignored = append(ch.ignored, generated...)
	c.objects.checkLiteralNames(ch, fields["metadata"])
	c.scope, c.prefix = outerScope, outerPrefix
	c.checkIdentity(ch, s)
}

// setPolicies sets how changes, deletion and adoption of a child are handled.
func (c *childCompiler) setPolicies(ch *Child, s *syntax.Child) {
	if s.OnDelete.Value == "orphan" {
		ch.OnDelete = Orphan
	}
	switch s.OnChange.Value {
	case "replace":
		ch.OnChange = Replace
	case "keep":
		ch.OnChange = Keep
	case "once":
		ch.OnChange = Once
	}
	if ch.Replaces() && ch.OnDelete == Orphan {
		c.expressions.complain(s.OnChange.Pos, "onChange: %s deletes what onDelete: orphan never deletes",
			s.OnChange.Value).Hint = "remove onChange to keep the objects with the data that they hold, or " +
			"onDelete: orphan if they may be deleted"
	}
	ch.Adopt = s.IfExists.Value == "adopt"
	ch.MaxObjects = int(s.MaxObjects)
	ch.Sequential = s.Order.Value == "sequential"
	ch.Shared, ch.Extends = s.Shares(), s.Extends()
	ch.tracked = c.rule.ForCluster() || ch.OnDelete == Orphan || c.rule.finalizes || c.rule.Ordered || ch.Sequential ||
		ch.Shared
}

// compileReadiness compiles readyWhen and failWhen. In their scope, child is the live object.
func (c *childCompiler) compileReadiness(ch *Child, s *syntax.Child, iterators []string) {
	names := append([]string{child}, iterators...)
	c.shapes[child] = expr.Live(child)
	if s.ReadyWhen != nil {
		ch.readyWhen = c.expressions.compileIn(c.expressions.scopeWith(names), s.ReadyWhen, expr.Bool, "readyWhen")
	}
	if s.FailWhen != nil {
		ch.failWhen = c.expressions.compileIn(c.expressions.scopeWith(names), s.FailWhen, expr.Bool, "failWhen")
	}
	delete(c.shapes, child)
}

// checkLiteralNames checks the literal parts of a child's name and namespace.
func (c *objectCompiler) checkLiteralNames(ch *Child, metadata *source.Node) {
	if metadata == nil {
		return
	}
	rule, what := namingOf(ch.GVK.GroupKind()), "name of a "+ch.GVK.Kind
	for _, f := range metadata.Fields {
		switch where := "metadata." + f.Key.Value; f.Key.Value {
		case "name":
			c.expressions.literalPart(f.Value, rule, where, "", what)
		case "generateName":
			c.expressions.literalPart(f.Value, rule, where, "x", "prefix of the "+what)
		case "namespace":
			c.expressions.literalPart(f.Value, labelNames, where, "", nameOfNamespace)
		}
	}
}

// checkIdentity checks what the name and namespace of a child are computed from.
func (c *childCompiler) checkIdentity(ch *Child, s *syntax.Child) {
	mentioned := map[string]bool{}
	for _, t := range []*text{ch.name, ch.namespace} {
		for _, p := range t.programs() {
			for _, name := range p.Reads() {
				mentioned[name] = true
			}
			if trail, ok := p.Volatile(); ok {
				c.expressions.complain(p.Pos(), "template.%s: %s changes with every write, so the name would change, too", t.where,
					trail).Hint =
					"build names from stable fields, such as metadata.name"
			}
		}
	}
	c.checkIterated(s.ForEach, mentioned, sameObject)
}

// A loop is the forEach of a child or condition. Without one it is empty.
type loop struct {
	iterators []iterator
	locals    map[string]int // names of the iterators: indexes of the values of an element
}

// An iterator is one entry of forEach.
type iterator struct {
	in      *expr.Program
	indexed bool // it has a name for the index
}

// compileLoop compiles forEach and returns the names that it puts into scope. The list
// of each may be computed from the elements of those before it.
func (c *childCompiler) compileLoop(forEach []*syntax.Iterator) (l loop, names []string) {
	l.locals = map[string]int{}
	declare := func(name string, shape *expr.Shape) {
		l.locals[name] = len(names)
		names = append(names, name)
		c.shapes[name] = shape
	}
	for _, it := range forEach {
		if it.Unusable {
			continue
		}
		prog := c.expressions.compileIn(c.expressions.scopeWith(names), it.In, expr.List, "forEach")
		var element *expr.Shape
		if prog != nil {
			element = prog.Shape().Any()
		}
		l.iterators = append(l.iterators, iterator{in: prog, indexed: it.Index.Value != ""})
		declare(it.Name.Value, element)
		if it.Index.Value != "" {
			declare(it.Index.Value, nil)
		}
	}
	return l, names
}

// A sameness is what all elements would give if no name of forEach were part of a name.
type sameness struct{ of, gives, where string }

var (
	sameObject    = sameness{"name", "render the same object", "template.metadata.name"}
	sameCondition = sameness{"type", "set the same condition", "type"}
)

// checkIterated records an error for iterators that are not mentioned where each element
// needs a name of its own.
func (c *childCompiler) checkIterated(forEach []*syntax.Iterator, mentioned map[string]bool, same sameness) {
	for _, it := range forEach {
		if it.Unusable || mentioned[it.Name.Value] || it.Index.Value != "" && mentioned[it.Index.Value] {
			continue
		}
		c.expressions.complain(it.Name.Pos, "forEach: %q is not part of the %s: all elements would %s", it.Name.Value,
			same.of, same.gives).Hint =
			"write ${" + it.Name.Value + "...} into " + same.where
	}
}
