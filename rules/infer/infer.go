package infer

import (
	"cmp"
	"maps"
	"slices"

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
	in := &inference{set: set, parsed: map[*source.Expr]*ast.AST{}, kinds: map[runtimeschema.GroupVersionKind]*primary{}}
	for _, r := range file.Rules {
		if gvk := gvkOf(r.For.APIVersion, r.For.Kind); !r.For.Cluster && schema.Builtin().Kind(gvk) == nil && in.kinds[gvk] == nil {
			in.kinds[gvk] = &primary{gvk: gvk, slot: in.whole()}
		}
	}
	for _, r := range file.Rules {
		in.rule(r)
	}
	in.settle()
	primaries := slices.SortedFunc(maps.Values(in.kinds), func(a, b *primary) int {
		return cmp.Or(cmp.Compare(a.gvk.Group, b.gvk.Group), cmp.Compare(a.gvk.Kind, b.gvk.Kind), cmp.Compare(a.gvk.Version, b.gvk.Version))
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

// An inference is the state of inferring kinds.
type inference struct {
	set       *schema.Set
	parsed    map[*source.Expr]*ast.AST
	kinds     map[runtimeschema.GroupVersionKind]*primary
	open      []question
	changed   bool
	functions map[string]*definition // of the rule
	objects   map[string]*slot       // of the children of the rule, by id
	depth     int                    // of calls of functions
}

// objectMeta is the definition of metadata.
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// whole returns the slot of a custom kind.
func (in *inference) whole() *slot {
	return &slot{is: object, fields: map[string]*field{
		"apiVersion": {slot: &slot{is: text}},
		"kind":       {slot: &slot{is: text}},
		"metadata":   {slot: in.slotOf(spec.RefSchema(schema.RefPrefix + objectMeta))},
	}}
}

// kindSlot returns the slot of the objects of a kind.
func (in *inference) kindSlot(gvk runtimeschema.GroupVersionKind) *slot {
	if p := in.kinds[gvk]; p != nil {
		return p.slot
	}
	if s := in.set.Schema(gvk); s != nil {
		return in.slotOf(s)
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
	in.objects = map[string]*slot{}
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
		in.objects[ch.ID.Value] = s
		if ch.Replicas != nil || len(ch.ForEach) > 0 {
			s = newList(s)
		}
		sc.declare(ch.ID.Value, s)
	}
	for _, l := range src.Let {
		sc.declareLazily(l.Name.Value, func() value {
			if l.Expr != nil {
				return in.expression(l.Expr, sc)
			}
			return in.named(l.Data, sc)
		})
	}
	for _, l := range src.Let {
		sc.lookup(l.Name.Value)
	}
	for _, ch := range children {
		in.child(ch, sc)
	}
}

// own infers what a rule says about its primary.
func (in *inference) own(src *syntax.Rule, self *slot, sc *scope) {
	in.want(src.For.When, sc, boolean)
	for _, c := range src.Validate {
		in.want(c.Expression, sc, boolean)
		in.texts(sc, c.Message)
	}
	for _, l := range src.Lookups {
		in.texts(sc, l.Namespace, l.Name)
		if l.Names != nil {
			in.place(l.Names, newList(&slot{is: text}), sc)
		}
		if l.Selector != nil {
			in.place(l.Selector, in.slotOf(spec.RefSchema(schema.RefPrefix+labelSelector)), sc)
		}
	}
	for _, c := range src.Conditions {
		inner := in.loops(c.ForEach, sc)
		in.want(c.When, inner, boolean)
		in.texts(inner, c.Type, c.Reason, c.Message)
	}
	if src.Patch != nil {
		in.place(src.Patch, self, sc)
	}
	if src.Status != nil {
		in.place(src.Status, in.fieldOf(self, "status").slot, sc)
	}
}

// labelSelector is the definition of a lookup's selector.
const labelSelector = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"

// texts infers texts.
func (in *inference) texts(sc *scope, all ...*source.Node) {
	for _, n := range all {
		if n != nil {
			in.place(n, &slot{is: text}, sc)
		}
	}
}

// loops returns the scope of what stands for each element of lists.
func (in *inference) loops(iterators []*syntax.Iterator, sc *scope) *scope {
	for _, it := range iterators {
		element := &slot{}
		over := in.expression(it.In, sc).slot
		in.unify(over, newList(&slot{}))
		in.each(over, element, nil)
		sc = sc.nested()
		sc.declare(it.Name.Value, element)
		sc.declare(it.Index.Value, &slot{is: integer})
	}
	return sc
}

// child infers a child.
func (in *inference) child(ch *syntax.Child, sc *scope) {
	in.want(ch.When, sc, boolean)
	in.want(ch.Replicas, sc, integer)
	in.want(ch.MaxUnavailable, sc, integer)
	sc = in.loops(ch.ForEach, sc)
	for _, p := range ch.IgnoreFields {
		in.want(p.When, sc, boolean)
	}
	for _, made := range ch.Generate {
		for _, f := range made.Node.Fields {
			if f.Value.Kind == source.Interp {
				in.texts(sc, f.Value)
			} else {
				in.data(f.Value, sc)
			}
		}
	}
	if ch.Template != nil {
		in.place(ch.Template, in.objects[ch.ID.Value], sc)
	}
	sc = sc.nested()
	sc.declare("child", in.objects[ch.ID.Value])
	in.want(ch.ReadyWhen, sc, boolean)
	in.want(ch.FailWhen, sc, boolean)
}
