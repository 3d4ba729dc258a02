package reference

import (
	"slices"

	"reconcel/rules"
	"reconcel/rules/kstatus"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A ruleView is a rule as compiled and as written, with what its texts need.
type ruleView struct {
	kind  string // of the resources
	rule  *rules.Rule
	src   *syntax.Rule
	graph rules.Graph
	kinds *schema.Set
	with  map[*syntax.Child][]string // the children with which a child is excluded
	only  Text                       // which resources have its objects, if other rules have others
	names *namer
	words *phrasing
}

func newRuleView(rule *rules.Rule, src *syntax.Rule, from Source) *ruleView {
	v := &ruleView{kind: rule.GVK.Kind, rule: rule, src: src, graph: rule.Graph(), kinds: from.Kinds, with: from.ExcludedWith, names: newNamer(src)}
	v.words = &phrasing{rule: src, self: compose("the " + v.kind), objects: map[string]Text{}}
	for _, c := range rule.Children {
		v.words.objects[c.ID] = v.title(c)
	}
	for _, l := range src.Lookups {
		v.words.objects[l.ID.Value] = v.lookupTitle(l)
	}
	return v
}

// title names the objects of a child in a sentence: the Deployment <name>.
func (v *ruleView) title(c *rules.Child) Text {
	kind := c.GVK.Kind
	if c.IsCollection() {
		kind += " objects"
	}
	return compose("the "+kind+" ", v.nameOf(c))
}

// nameOf returns the name of the objects of a child.
func (v *ruleView) nameOf(c *rules.Child) Text { return code(v.names.child(v.names.children[c.ID])) }

// created describes what the rule creates while the resource exists.
func (v *ruleView) created() (sections []Section) {
	for _, c := range v.rule.Children {
		if c.Timeout == 0 {
			sections = append(sections, v.describe(c))
		}
	}
	return sections
}

// describe describes the objects of a child.
func (v *ruleView) describe(c *rules.Child) Section {
	src := v.names.children[c.ID]
	var rows [][]Text
	add := func(title string, parts ...any) {
		if text := compose(parts...); len(text) > 0 {
			rows = append(rows, []Text{compose(title), text.upper()})
		}
	}
	add("API version", code(c.GVK.GroupVersion().String()))
	add("In messages", code(c.ID))
	add("Only for resources", v.only)
	add("Namespace", v.namespaceOf(c, src))
	add("Number", v.number(src))
	add("Exists", v.existence(src))
	add("Reads values of", v.read(c))
	add("Waits for", v.waits(c))
	add("Ready", v.readiness(c, src))
	if src.FailWhen != nil {
		add("Failed", "if ", v.words.condition(src.FailWhen.Text))
	}
	add("Generated values", generated(c))
	add("Fields of others", v.ignored(src))
	add("Changes", v.changes(c))
	if c.Shared {
		add("Sharing", "several resources may have it in common, if all of them want the same content")
	}
	if c.Adopt {
		add("Existing object", "an object of that name without an owner is taken over")
	}
	add("When the "+v.kind+" is deleted", v.ending(c))
	return Section{Title: compose(c.GVK.Kind+" ", v.nameOf(c)), Level: 3, Blocks: []Block{table(nil, rows)}}
}

func (v *ruleView) namespaceOf(c *rules.Child, src *syntax.Child) Text {
	namespace := v.names.namespace(src.Template.At("metadata", "namespace"))
	switch {
	case v.kinds.Scope(c.GVK.GroupKind()) == schema.ClusterScoped:
		return compose("none: it is cluster-scoped")
	case namespace != "":
		return code(namespace)
	}
	return nil // as the page says for all
}

// number says how many objects a child has, unless it is one.
func (v *ruleView) number(src *syntax.Child) Text {
	if src.Replicas != nil {
		return compose(v.given(src.Replicas), ", alike but for their names")
	}
	return v.each(src.ForEach)
}

// each says what there is one of.
func (v *ruleView) each(iterators []*syntax.Iterator) Text {
	var all []Text
	for _, i := range iterators {
		name := compose(code(i.Name.Value))
		if i.Index.Value != "" {
			name = compose(name, " with its index ", code(i.Index.Value))
		}
		all = append(all, compose(name, " in ", v.given(i.In)))
	}
	if len(all) == 0 {
		return nil
	}
	return compose("one for each ", enumerate("and each", all))
}

// given shows the value of an expression: the field, or the expression with what it reads.
func (v *ruleView) given(e *source.Expr) Text {
	if value, ok := v.fieldOf(e); ok {
		return value
	}
	return compose(v.words.written(e.Text), v.words.where(e.Text))
}

// fieldOf names the field that an expression is.
func (v *ruleView) fieldOf(e *source.Expr) (Text, bool) {
	root := newExpander(v.src).expand(e.Text, nil)
	if root == nil {
		return nil, false
	}
	value, ok := v.words.value(root)
	return value.subject(), ok && value.absent == nil
}

func (v *ruleView) existence(src *syntax.Child) Text {
	var with []Text
	for _, id := range v.with[src] {
		with = append(with, v.words.objects[id])
	}
	together := compose("together with ", enumerate("and", with))
	switch {
	case src.When == nil && len(with) == 0:
		return compose("always")
	case src.When == nil:
		return together
	case len(with) == 0:
		return compose("if ", v.words.condition(src.When.Text))
	}
	return compose("if ", v.words.condition(src.When.Text), ", ", together)
}

// read names the objects whose values the object has.
func (v *ruleView) read(c *rules.Child) Text {
	var all []Text
	for _, e := range v.reads(c) {
		if object := v.words.objects[v.graph.Parts[e.Read].ID]; object != nil && !e.Previous && len(e.Fields) > 0 {
			all = append(all, object.upper())
		}
	}
	return lines(all)
}

// readsObjects reports whether an object of the rule reads another one.
func (v *ruleView) readsObjects() bool {
	return slices.ContainsFunc(v.rule.Children, func(c *rules.Child) bool { return len(v.read(c)) > 0 })
}

// waits names the objects that have to be ready first.
func (v *ruleView) waits(c *rules.Child) Text {
	var all []Text
	for _, e := range v.reads(c) {
		if other := v.childOf(v.graph.Parts[e.Read]); other != nil && e.Waits {
			all = append(all, compose(v.title(other).upper(), " to be ready"))
		}
	}
	return lines(all)
}

// reads returns what a child reads.
func (v *ruleView) reads(c *rules.Child) (all []rules.Edge) {
	for _, e := range v.graph.Edges {
		if v.childOf(v.graph.Parts[e.Reader]) == c {
			all = append(all, e)
		}
	}
	return all
}

// childOf returns the child that a part is, or nil.
func (v *ruleView) childOf(p rules.Part) *rules.Child {
	if p.Kind != rules.ChildPart && p.Kind != rules.FinalizePart {
		return nil
	}
	at := slices.IndexFunc(v.rule.Children, func(c *rules.Child) bool { return c.ID == p.ID })
	return v.rule.Children[at]
}

func (v *ruleView) readiness(c *rules.Child, src *syntax.Child) Text {
	if src.ReadyWhen != nil {
		return compose("if ", v.words.condition(src.ReadyWhen.Text))
	}
	if meaning := kstatus.Meaning(c.GVK.GroupKind()); meaning != "" {
		return compose("when " + meaning)
	}
	if v.kinds.Schema(c.GVK) != nil && v.kinds.Conditions(c.GVK) == nil {
		return compose("when it exists")
	}
	return compose("when its condition ", code("Ready"), " or ", code("Available"), " is ", code("True"), ", if it has one")
}

func generated(c *rules.Child) Text {
	var keys []Text
	for _, k := range c.GeneratedKeys() {
		keys = append(keys, code(k))
	}
	if len(keys) == 0 {
		return nil
	}
	return compose("made once, and then kept: ", enumerate("and", keys))
}

// ignored names the fields that belong to others once the object exists.
func (v *ruleView) ignored(src *syntax.Child) Text {
	var all []Text
	for _, f := range src.IgnoreFields {
		text := code(f.Text)
		if f.When != nil {
			text = compose(text, " if ", v.words.condition(f.When.Text))
		}
		all = append(all, text)
	}
	if len(all) == 0 {
		return nil
	}
	return compose("set when the object is created, and then left to whoever changes them: ", enumerate("and", all))
}

func (v *ruleView) changes(c *rules.Child) Text {
	var all []Text
	switch c.OnChange {
	case rules.Replace, rules.Once:
		all = append(all, compose("to change it, reconcel deletes it and creates it again"))
	case rules.Keep:
		all = append(all, compose("it stays as it was created: changes of the "+v.kind+" have no effect on it"))
	}
	switch {
	case c.IsJob() && c.Remembers():
		all = append(all, compose("when it has finished and is gone, it does not run again unless it changes"))
	case c.OnChange == rules.Once:
		all = append(all, compose("when it was ready and is gone, it is not created again unless it changes"))
	}
	if c.Sequential {
		all = append(all, compose("one object after another: each waits until those before it are ready"))
	}
	return sentence(all)
}

// ending says what happens to an object when the resource is deleted. Most are deleted
// too, as the page says for all.
func (v *ruleView) ending(c *rules.Child) Text {
	switch {
	case c.OnDelete == rules.Orphan:
		return Text{{"it stays", Strong}}
	case c.Shared:
		return compose("it stays until the last resource that shares it is deleted")
	}
	return nil
}
