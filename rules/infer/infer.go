package infer

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/crd"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Kinds returns what the custom kinds of the primaries are like, sorted by group and kind.
// The set has the kinds of other objects. The mistakes are those that the checker finds in
// rules with these kinds, for example because the schema of a rule does not fit its use.
func Kinds(file *syntax.File, set *schema.Set) (kinds []*crd.Definition, mistakes []*source.Error, err error) {
	in := newInference(set)
	for _, r := range file.Rules {
		if gvk := gvkOf(r.For.APIVersion, r.For.Kind); !r.For.Cluster && schema.Builtin().Kind(gvk) == nil &&
			in.kinds[gvk] == nil {
			in.kinds[gvk] = &primary{gvk: gvk, slot: in.whole()}
		}
	}
	for _, r := range file.Rules {
		in.rule(r)
	}
	in.questions.settle()
	primaries := slices.SortedFunc(maps.Values(in.kinds), func(a, b *primary) int {
		return cmp.Or(cmp.Compare(a.gvk.Group, b.gvk.Group), cmp.Compare(a.gvk.Kind, b.gvk.Kind),
			cmp.Compare(a.gvk.Version, b.gvk.Version))
	})
	return in.definitions(file, primaries)
}

// A primary is a custom kind of primaries.
type primary struct {
	gvk  runtimeschema.GroupVersionKind
	slot *slot
	// beside and cluster say what speaks for objects with and without a namespace.
	beside, cluster bool
	rules           []*syntax.Rule
}

// An inference infers kinds from rules. Each of its parts uses only those above it.
type inference struct {
	set       *schema.Set
	kinds     map[runtimeschema.GroupVersionKind]*primary
	slots     slots
	questions questions
	overloads overloads
	reading   reading
	reader    reader // of data, outside of expressions
}

func newInference(set *schema.Set) *inference {
	in := &inference{set: set, kinds: map[runtimeschema.GroupVersionKind]*primary{}, slots: slots{set: set}}
	in.questions = questions{slots: &in.slots}
	in.overloads = overloads{&in.slots, &in.questions}
	in.reading = reading{
		slots: &in.slots, questions: &in.questions, overloads: &in.overloads,
		parsed: map[*source.Expr]*ast.AST{},
	}
	in.reader = reader{reading: &in.reading}
	return in
}

// objectMeta is the definition of metadata.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// whole returns the slot of a custom kind.
func (in *inference) whole() *slot {
	return &slot{is: object, fields: map[string]*field{
		"apiVersion": {slot: &slot{is: text}},
		"kind":       {slot: &slot{is: text}},
		"metadata":   {slot: in.slots.slotOf(spec.RefSchema(schema.RefPrefix + objectMeta))},
	}}
}

// kindSlot returns the slot of the objects of a kind.
func (in *inference) kindSlot(gvk runtimeschema.GroupVersionKind) *slot {
	if p := in.kinds[gvk]; p != nil {
		return p.slot
	}
	if s := in.set.Schema(gvk); s != nil {
		return in.slots.slotOf(s)
	}
	out := in.whole()
	out.fields["spec"], out.fields["status"] = &field{slot: &slot{}}, &field{slot: &slot{}}
	return out
}

func gvkOf(apiVersion, kind source.String) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(apiVersion.Value, kind.Value)
}

// rule infers a rule.
func (in *inference) rule(src *syntax.Rule) {
	sc := in.define(src.Definitions).nested()
	in.reading.objects = map[string]*slot{}
	if !src.For.Cluster {
		gvk := gvkOf(src.For.APIVersion, src.For.Kind)
		self := in.kindSlot(gvk)
		sc.declare("self", self)
		if p := in.kinds[gvk]; p != nil {
			p.rules = append(p.rules, src)
			in.scoped(p, src)
		}
		defer in.own(src, self, sc)
	}
	for _, l := range src.Lookups {
		s := in.kindSlot(gvkOf(l.APIVersion, l.Kind))
		if l.Name == nil {
			s = newList(s)
		}
		sc.declare(l.ID.Value, s)
	}
	children := slices.Concat(src.Children, src.Finalize)
	for _, ch := range children {
		s := in.kindSlot(gvkOf(ch.Template.At("apiVersion").Literal(), ch.Template.At("kind").Literal()))
		in.reading.objects[ch.ID.Value] = s
		if ch.Replicas != nil || len(ch.ForEach) > 0 {
			s = newList(s)
		}
		sc.declare(ch.ID.Value, s)
	}
	for _, l := range src.Let {
		sc.declareLazily(l.Name.Value, func() value {
			if l.Expr != nil {
				return in.reader.expression(l.Expr, sc)
			}
			return in.reader.named(l.Data, sc)
		})
	}
	for _, l := range src.Let {
		sc.lookup(l.Name.Value)
	}
	if src.CommonMetadata != nil {
		in.reader.place(src.CommonMetadata, in.ofMeta("ObjectMeta"), sc)
	}
	for _, ch := range children {
		in.child(ch, sc)
	}
}

// own infers what a rule says about its primary.
func (in *inference) own(src *syntax.Rule, self *slot, sc *scope) {
	in.reader.want(src.For.When, sc, boolean)
	for _, c := range src.Validate {
		in.reader.want(c.Expression, sc, boolean)
		in.texts(sc, c.Message)
	}
	for _, l := range src.Lookups {
		in.texts(sc, l.Namespace, l.Name)
		if l.Names != nil {
			in.reader.place(l.Names, newList(&slot{is: text}), sc)
		}
		if l.Selector != nil {
			in.reader.place(l.Selector, in.ofMeta("LabelSelector"), sc)
		}
	}
	for _, c := range src.Conditions {
		inner := in.loops(c.ForEach, sc)
		in.reader.want(c.When, inner, boolean)
		in.texts(inner, c.Type, c.Reason, c.Message, c.Event)
	}
	if src.Patch != nil {
		in.reader.place(src.Patch, self, sc)
	}
	if src.Status != nil {
		in.reader.place(src.Status, in.slots.fieldOf(self, "status").slot, sc)
	}
}

// ofMeta returns the slot of a type that all kinds share.
func (in *inference) ofMeta(name string) *slot {
	return in.slots.slotOf(spec.RefSchema(schema.RefPrefix + "io.k8s.apimachinery.pkg.apis.meta.v1." + name))
}

// texts infers texts.
func (in *inference) texts(sc *scope, all ...*source.Node) {
	for _, n := range all {
		if n != nil {
			in.reader.place(n, &slot{is: text}, sc)
		}
	}
}

// loops returns the scope of what stands for each element of lists.
func (in *inference) loops(iterators []*syntax.Iterator, sc *scope) *scope {
	for _, it := range iterators {
		element := &slot{}
		over := in.reader.expression(it.In, sc).slot
		in.slots.unify(over, newList(&slot{}))
		in.questions.each(over, element, nil)
		sc = sc.nested()
		sc.declare(it.Name.Value, element)
		sc.declare(it.Index.Value, &slot{is: integer})
	}
	return sc
}

// child infers a child.
func (in *inference) child(ch *syntax.Child, sc *scope) {
	in.reader.want(ch.When, sc, boolean)
	in.reader.want(ch.Replicas, sc, integer)
	in.reader.want(ch.MaxUnavailable, sc, integer)
	sc = in.loops(ch.ForEach, sc)
	for _, p := range ch.IgnoreFields {
		in.reader.want(p.When, sc, boolean)
	}
	for _, made := range ch.Generate {
		for _, f := range made.Node.Fields {
			if f.Value.Kind == source.Interp {
				in.texts(sc, f.Value)
			} else {
				in.reader.data(f.Value, sc)
			}
		}
	}
	if ch.Template != nil {
		in.reader.place(ch.Template, in.reading.objects[ch.ID.Value], sc)
	}
	sc = sc.nested()
	sc.declare("child", in.reading.objects[ch.ID.Value])
	in.reader.want(ch.ReadyWhen, sc, boolean)
	in.reader.want(ch.FailWhen, sc, boolean)
}

// scoped notes what a rule says about whether its primary has a namespace. Objects beside it,
// and reading its namespace, need one. What is elsewhere needs none.
func (in *inference) scoped(p *primary, src *syntax.Rule) {
	p.beside = p.beside || len(src.For.Namespaces) > 0
	place := func(gvk runtimeschema.GroupVersionKind, namespace *source.Node, hidden bool) {
		k := in.set.Kind(gvk)
		switch {
		case k != nil && !k.Namespaced:
			p.cluster = true
		case namespace == nil || hidden:
			p.beside = true
		default:
			p.cluster = true
		}
	}
	for _, l := range src.Lookups {
		place(gvkOf(l.APIVersion, l.Kind), l.Namespace, false)
		p.beside = p.beside || readsNamespace(l.Namespace) || readsNamespace(l.Name)
	}
	for _, ch := range append(src.Children[:len(src.Children):len(src.Children)], src.Finalize...) {
		metadata := ch.Template.At("metadata")
		place(gvkOf(ch.Template.At("apiVersion").Literal(), ch.Template.At("kind").Literal()), metadata.At("namespace"),
			metadata != nil && metadata.Kind != source.Map)
		p.beside = p.beside || readsNamespace(ch.Template)
	}
	for _, l := range src.Let {
		p.beside = p.beside || readsNamespace(l.Data) || l.Expr != nil && namesNamespace(l.Expr)
	}
	p.beside = p.beside || readsNamespace(src.Status) || readsNamespace(src.CommonMetadata)
}

func readsNamespace(n *source.Node) bool {
	for e := range n.Expressions() {
		if namesNamespace(e) {
			return true
		}
	}
	return false
}

func namesNamespace(e *source.Expr) bool { return strings.Contains(e.Text, "self.metadata.namespace") }

// maxDepth is how far definitions and types are followed into each other.
const maxDepth = 20

// A scope has the values of names.
type scope struct {
	outer *scope
	names map[string]func() value
}

func (sc *scope) nested() *scope { return &scope{sc, map[string]func() value{}} }

func (sc *scope) lookup(name string) value {
	for ; sc != nil; sc = sc.outer {
		if v := sc.names[name]; v != nil {
			return v()
		}
	}
	return value{slot: &slot{}} // A mistake, which validate reports.
}

func (sc *scope) has(name string) bool {
	for ; sc != nil; sc = sc.outer {
		if sc.names[name] != nil {
			return true
		}
	}
	return false
}

// declare adds a name with a slot.
func (sc *scope) declare(name string, s *slot) {
	if name != "" {
		sc.names[name] = func() value { return value{slot: s} }
	}
}

// declareLazily adds a name whose value is inferred when it is read. While it is being
// inferred, the name is that of the outer scope: an entry of a map does not read itself.
func (sc *scope) declareLazily(name string, infer func() value) {
	var out *value
	busy := false
	sc.names[name] = func() value {
		switch {
		case out != nil:
			return *out
		case busy:
			return sc.outer.lookup(name)
		}
		busy = true
		v := infer()
		out = &v
		return v
	}
}

// A definition is a function of define, and the scope of its text.
type definition struct {
	*syntax.Definition
	scope *scope
}

// define returns the scope of the definitions beside a rule.
func (in *inference) define(src *syntax.Definitions) *scope {
	in.reading.functions = map[string]*definition{}
	sc := (*scope)(nil).nested()
	if src == nil {
		return sc
	}
	for _, d := range src.All {
		if len(d.Params) > 0 {
			in.reading.functions[d.Name.Value] = &definition{d, sc}
			continue
		}
		sc.declareLazily(d.Name.Value, func() value {
			if d.Expr != nil {
				return in.reader.expression(d.Expr, sc)
			}
			return in.reader.named(d.Data, sc)
		})
	}
	return sc
}
