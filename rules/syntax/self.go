package syntax

import (
	"slices"

	"reconcel/rules/source"
)

// Self is the kind of a lookup or template that stands for the kind of the primary. It has no apiVersion.
const Self = "self"

var versionUnlessSelf = &source.Schema{
	If: &source.Schema{Required: []string{"kind"},
		Properties: source.Properties{{Name: "kind", Value: &source.Schema{Const: Self}}}},
	Then: withKey("apiVersion", nil),
	Else: requiresKeys("apiVersion"),
}

// readSelf returns the kind of a lookup or template if it is self.
func readSelf(v source.Value) source.String {
	kind := v.Peek("kind")
	if kind.Scalar() != Self {
		return source.String{}
	}
	if version := v.Peek("apiVersion"); !version.Missing() {
		version.Errorf("cannot be used together with kind: self, which is the kind and version of the primary").Hint =
			"remove it"
	}
	return source.String{Value: Self, Pos: kind.Pos()}
}

// forEachOf returns the rule once for each of its kinds, which is the kind of what is for self.
func (r *Rule) forEachOf(kinds []For, v source.Value) []*Rule {
	var all []*Rule
	for i, f := range kinds {
		one := *r
		one.For, one.Others = f, slices.Delete(slices.Clone(kinds), i, i+1)
		one.Digest = r.Digest.And(f.Digest)
		one.Lookups = mapped(r.Lookups, func(l *Lookup) *Lookup { return l.of(f, v) })
		ofKind := func(c *Child) *Child { return c.of(f, v) }
		one.Children, one.Finalize = mapped(r.Children, ofKind), mapped(r.Finalize, ofKind)
		for _, c := range one.Children {
			c.checkPod(v)
		}
		all = append(all, &one)
	}
	return all
}

func mapped[T any](list []T, f func(T) T) []T {
	list = slices.Clone(list)
	for i, e := range list {
		list[i] = f(e)
	}
	return list
}

// of returns a lookup in a rule for a kind.
func (l *Lookup) of(f For, rule source.Value) *Lookup {
	if l.Kind.Value != Self || l.APIVersion.Value != "" || !f.hasSelf(l.Entry, l.Kind.Pos, rule) {
		return l
	}
	one := *l
	one.APIVersion = source.String{Value: f.APIVersion.Value, Pos: l.Kind.Pos}
	one.Kind = source.String{Value: f.Kind.Value, Pos: l.Kind.Pos}
	return &one
}

// of returns an entry of children or finalize in a rule for a kind.
func (c *Child) of(f For, rule source.Value) *Child {
	kind := c.Template.At("kind").Literal()
	if kind.Value != Self || c.Template.At("apiVersion") != nil || !f.hasSelf(c.Entry+": template", kind.Pos, rule) {
		return c
	}
	field := func(key, value string) source.Field {
		return source.Field{Key: source.String{Value: key, Pos: kind.Pos},
			Value: &source.Node{Kind: source.Text, Pos: kind.Pos, Value: value}}
	}
	template := *c.Template
	template.Fields = []source.Field{field("apiVersion", f.APIVersion.Value), field("kind", f.Kind.Value)}
	for _, other := range c.Template.Fields {
		if other.Key.Value != "kind" {
			template.Fields = append(template.Fields, other)
		}
	}
	one := *c
	one.Template = &template
	return &one
}

// hasSelf records an error if a rule has no primary, whose kind an entry has.
func (f *For) hasSelf(entry string, kind source.Pos, rule source.Value) bool {
	if f.Cluster {
		rule.ErrorAt(kind, "%s: kind: self is not possible with for: cluster: the rule has no primary", entry).Hint =
			"write apiVersion and kind"
	}
	return !f.Cluster
}

// checkPod requires onChange for a Pod, because almost none of its fields can be
// changed.
func (c *Child) checkPod(rule source.Value) {
	kind := c.Template.At("kind").Literal()
	if !c.changes && !c.Extends() && kind.Value == "Pod" && c.Template.At("apiVersion").Literal().Value == "v1" {
		rule.ErrorAt(kind.Pos, "%s: a Pod cannot be changed in place: say what to do", c.Entry).Hint =
			"write onChange: replace, keep or once"
	}
}
