package reference

import (
	"cmp"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"reconcel/rules"
	"reconcel/rules/infer"
	"reconcel/rules/kstatus"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An Object is one that a rule makes for a resource, or any number of them.
type Object struct {
	Kind              Text
	Name, ID          Code
	APIVersion        Code
	Only              Markdown // which resources have it, if not all have
	Namespace         Markdown // "": that of the resource, or none
	ClusterScoped     bool
	Each              Markdown // what there is one for, or ""
	Replicas          Markdown // how many there are, or ""
	When              Markdown
	With              Markdown // what it is excluded with
	Reads, Waits      Markdown
	Ready, Failed     Markdown
	Generated         Markdown // the keys of generated values
	Ignored           Markdown // the fields that are left to others
	Replaced, Kept    bool
	JobOnce, OnceOnly bool // it is not made again when it is gone
	Sequential        bool
	Shared, Extended  bool
	Adopted           bool
	Orphaned          bool
	Timeout           Text // of an entry of finalize
}

// A Lookup is objects that a rule reads.
type Lookup struct{ Object, Namespace, Readers Markdown }

// A Condition is one that a rule computes.
type Condition struct {
	Type          Code
	When, Message Markdown
}

// A ruleView is a rule as compiled and as written.
type ruleView struct {
	*wording
	rule  *rules.Rule
	graph rules.Graph
	from  Source
}

// add adds what a rule does. Only says which resources it is for.
func (v *ruleView) add(page *Page, only Markdown) {
	for _, c := range v.rule.Children {
		o := v.object(c)
		o.Only = only
		page.ReadsObjects = page.ReadsObjects || o.Reads != ""
		page.Orphans = page.Orphans || o.Orphaned
		if c.Timeout > 0 {
			page.Finalize = append(page.Finalize, o)
			continue
		}
		page.Stays = page.Stays || o.Orphaned || o.Shared
		page.Objects = append(page.Objects, o)
	}
	for _, l := range v.src.Lookups {
		id := l.ID.Value
		page.Lookups = append(page.Lookups, Lookup{v.titles[id], v.lookupNamespace(l), v.readers(id)})
	}
	for _, c := range v.src.Validate {
		reason := Code(cmp.Or(c.Reason.Value, syntax.DefaultCheckReason))
		if !slices.Contains(page.Reasons, reason) {
			page.Reasons = append(page.Reasons, reason)
		}
		places := infer.Places(c.Expression)
		isRepeated := func(a Check) bool {
			return slices.ContainsFunc(places, func(p infer.Place) bool {
				return a.Field == Code(strings.Join(p.Path, ".")) && p.Is(a.rule)
			})
		}
		if !slices.ContainsFunc(page.Accepted, isRepeated) {
			page.Checked = append(page.Checked, Check{Rule: v.condition(c.Expression), Reason: reason,
				Message: v.message(c.Message)})
		}
	}
	for _, c := range v.src.Conditions {
		condition := Condition{Type: Code(v.text(c.Type)), When: "always", Message: v.message(c.Message)}
		if c.When != nil {
			condition.When = "if " + v.condition(c.When)
		}
		if len(c.ForEach) > 0 {
			condition.When = "for each " + v.each(c.ForEach) + ": " + condition.When
		}
		page.Conditions = append(page.Conditions, condition)
	}
	if v.src.Patch != nil {
		page.Patched = append(page.Patched, enumerate("and", leaves("", v.src.Patch)))
	}
	page.Annotates = page.Annotates || v.rule.Annotates
	page.Ordered = page.Ordered || v.rule.Ordered
	page.NeedsFinalizer = page.NeedsFinalizer || v.rule.MayNeedFinalizer()
	page.Shares = page.Shares || v.rule.Shares()
	page.Expressions = page.Expressions || v.shown
	for _, term := range v.terms() {
		if !slices.Contains(page.Terms, term) {
			page.Terms = append(page.Terms, term)
		}
	}
}

// selection says which resources the rule is for, or "" if it is for all.
func (v *ruleView) selection() Markdown {
	var parts []Markdown
	if patterns := v.rule.Namespaces; len(patterns) > 0 {
		parts = append(parts, "in the namespace "+enumerate("or", codes(patterns)))
	}
	if !v.rule.Selector.Empty() {
		parts = append(parts, formatf("with labels that match %v", Code(v.rule.Selector.String())))
	}
	if when := v.src.For.When; when != nil {
		parts = append(parts, "if "+v.condition(when))
	}
	return enumerate("and", parts)
}

// object describes a child.
func (v *ruleView) object(c *rules.Child) Object {
	children := slices.Concat(v.src.Children, v.src.Finalize)
	src := children[slices.IndexFunc(children, func(src *syntax.Child) bool { return src.ID.Value == c.ID })]
	o := Object{
		Kind: Text(c.GVK.Kind), Name: Code(v.nameOf(c.ID)), APIVersion: Code(c.GVK.GroupVersion().String()), ID: Code(c.ID),
		Namespace:     code(v.text(src.Template.At("metadata", "namespace"))),
		ClusterScoped: v.from.Kinds.Scope(c.GVK.GroupKind()) == schema.ClusterScoped,
		Each:          v.each(src.ForEach), Replicas: v.given(src.Replicas), When: v.condition(src.When),
		Ready: v.readiness(c, src), Failed: v.condition(src.FailWhen), Generated: enumerate("and", codes(c.GeneratedKeys())),
		Replaced: c.Replaces(), Kept: c.OnChange == rules.Keep,
		JobOnce: c.IsJob() && c.Remembers(), OnceOnly: c.OnChange == rules.Once && !c.IsJob(),
		Sequential: c.Sequential, Shared: c.Shared, Extended: c.Extends,
		Adopted: c.Adopt, Orphaned: c.OnDelete == rules.Orphan,
	}
	var with, ignored []Markdown
	for _, id := range v.from.ExcludedWith[src] {
		with = append(with, v.titles[id])
	}
	for _, f := range src.IgnoreFields {
		field := code(f.Text)
		if f.When != nil {
			field += " if " + v.condition(f.When)
		}
		ignored = append(ignored, field)
	}
	o.With, o.Ignored = enumerate("and", with), enumerate("and", ignored)
	if c.Timeout > 0 {
		o.Timeout = Text(duration.HumanDuration(c.Timeout))
	}
	var reads, waits []Markdown
	for _, e := range v.graph.Edges {
		read := v.graph.Parts[e.Read]
		if reader := v.graph.Parts[e.Reader]; !isObject(reader) || reader.ID != c.ID || v.titles[read.ID] == "" {
			continue
		}
		if len(e.Fields) > 0 && !e.Previous {
			reads = append(reads, v.titles[read.ID])
		}
		if e.Waits {
			waits = append(waits, v.titles[read.ID])
		}
	}
	o.Reads, o.Waits = enumerate("and", reads), enumerate("and", waits)
	return o
}

func isObject(p rules.Part) bool { return p.Kind == rules.ChildPart || p.Kind == rules.FinalizePart }

// each says what there is one of.
func (v *ruleView) each(iterators []*syntax.Iterator) Markdown {
	var all []Markdown
	for _, i := range iterators {
		name := code(i.Name.Value)
		if i.Index.Value != "" {
			name += formatf(" with its index %v", Code(i.Index.Value))
		}
		all = append(all, name+" in "+v.given(i.In))
	}
	return enumerate("and each", all)
}

func (v *ruleView) readiness(c *rules.Child, src *syntax.Child) Markdown {
	if src.ReadyWhen != nil {
		return "if " + v.condition(src.ReadyWhen)
	}
	if meaning := kstatus.Meaning(c.GVK.GroupKind()); meaning != "" {
		return Markdown("when " + meaning)
	}
	if v.from.Kinds.Schema(c.GVK) != nil && v.from.Kinds.Conditions(c.GVK) == nil {
		return "when it exists"
	}
	return "when its condition `Ready` or `Available` is `True`, if it has one"
}

func (v *ruleView) lookupNamespace(l *syntax.Lookup) Markdown {
	gvk := runtimeschema.FromAPIVersionAndKind(l.APIVersion.Value, l.Kind.Value)
	switch {
	case v.from.Kinds.Scope(gvk.GroupKind()) == schema.ClusterScoped:
		return "none: cluster-scoped"
	case l.Namespace == nil:
		return formatf("that of the %v", Text(v.rule.GVK.Kind))
	case v.text(l.Namespace) == "":
		return "all"
	}
	return code(v.text(l.Namespace))
}

// readers says what reads a lookup.
func (v *ruleView) readers(id string) Markdown {
	parts := v.graph.Parts
	firstCondition := slices.IndexFunc(parts, func(p rules.Part) bool { return p.Kind == rules.ConditionPart })
	words := map[rules.PartKind]Markdown{
		rules.ValidatePart: "checks", rules.PatchPart: "fields of the resource", rules.StatusPart: "the status",
	}
	var all []Markdown
	for _, e := range v.graph.Edges {
		reader := parts[e.Reader]
		switch {
		case parts[e.Read].Kind != rules.LookupPart || parts[e.Read].ID != id:
		case reader.Kind == rules.ConditionPart:
			all = append(all, formatf("the condition %v", Code(v.text(v.src.Conditions[e.Reader-firstCondition].Type))))
		default:
			all = append(all, cmp.Or(words[reader.Kind], v.titles[reader.ID]))
		}
	}
	return enumerate("and", all)
}

// leaves returns the paths of what a map of the rules contains.
func leaves(path string, n *source.Node) (all []Code) {
	if n.Kind != source.Map || len(n.Fields) == 0 {
		return []Code{Code(path)}
	}
	for _, f := range n.Fields {
		all = append(all, leaves(join(path, f.Key.Value), f.Value)...)
	}
	return all
}
