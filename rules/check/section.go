package check

import (
	"fmt"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A section is a part of a rule whose expressions see the same names. It checks their types, and
// what guards the fields that they read.
type section struct {
	body  *body
	guard *guard
	sc    *expr.TypedScope
}

// decision checks an expression that must be of one kind.
func (s section) decision(src *source.Expr, kind types.Kind, f facts, where string) outcome {
	s.body.expressions.want(src, s.sc, kind, where)
	return s.guard.at(where).expression(src, f)
}

// message checks a text, in which nothing may be absent.
func (s section) message(n *source.Node, f facts, where string) {
	s.body.texts.text(n, s.sc, where)
	s.guard.at(where).text(n, f)
}

// texts checks a list of texts, in which nothing may be absent.
func (s section) texts(n *source.Node, f facts, where string) {
	if n.Kind == source.Interp {
		s.decision(n.Parts[0].Expr, types.ListKind, f, where)
		return
	}
	for _, item := range n.Items {
		s.message(item, f, where)
	}
}

func (s section) lookup(l *syntax.Lookup, f facts) {
	s.body.namespaces.lookup(l)
	s.message(l.Namespace, f, "namespace")
	s.message(l.Name, f, "name")
	if l.Names != nil {
		s.texts(l.Names, f, "names")
	}
	if l.Selector != nil {
		if w := (walker{walking: s.body.walking, sc: s.sc}); !w.isText(l.Selector) {
			w.value(l.Selector, s.body.all.labelSelector(), "selector")
		}
		s.guard.at("selector").node(l.Selector, f)
	}
}

func (s section) child(ch *syntax.Child, f facts) {
	b := s.body
	b.prefix = ch.Entry + ": "
	s.guard = s.guard.at("")
	s.guard.quiet = !b.integrity.isIntact(ch.When)
	f = f.and(s.decision(ch.When, types.BoolKind, f, "when").truly())
	s.guard.reader = ch
	s.decision(ch.Replicas, types.IntKind, f, "replicas")
	s.decision(ch.MaxUnavailable, types.IntKind, f, "maxUnavailable")
	names, f := s.forEach(ch.ForEach, f)
	k := b.set.Kind(gvkOf(ch.Template))
	s.sc = b.scope(names)
	for _, p := range ch.IgnoreFields {
		s.decision(p.When, types.BoolKind, f, p.Entry+".when")
	}
	for _, made := range ch.Generate {
		s.generated(made, f)
	}
	b.templates.template(ch, k, s.sc)
	b.templates.replicas(ch)
	s.template(ch.Template, f)
	s.guard.reader = nil
	names["child"] = b.all.kindType(k)
	s.sc = b.scope(names)
	s.decision(ch.ReadyWhen, types.BoolKind, f, "readyWhen")
	s.decision(ch.FailWhen, types.BoolKind, f, "failWhen")
}

// forEach checks the lists of forEach. It returns the types of their names, and what is
// known in their scope.
func (s section) forEach(iterators []*syntax.Iterator, f facts) (names map[string]*types.Type, known facts) {
	names = map[string]*types.Type{}
	for _, it := range iterators {
		s.sc = s.body.scope(names)
		list := s.decision(it.In, types.ListKind, f, it.Entry)
		item, known := s.guard.work.bind(list.value, it.Name.Value, f)
		s.guard.vars = append(s.guard.vars, named{it.Name.Value, item}, named{it.Index.Value, nil})
		f = f.and(known)
		names[it.Name.Value] = types.DynType
		if t := s.body.typed[it.In]; t != nil && t.t.Kind() == types.ListKind {
			names[it.Name.Value] = t.t.Parameters()[0]
		}
		if it.Index.Value != "" {
			names[it.Index.Value] = types.IntType
		}
	}
	return names, f
}

func (s section) condition(c *syntax.Condition, f facts) {
	s.body.prefix = c.Entry + ": "
	s.guard = s.guard.at("")
	names, f := s.forEach(c.ForEach, f)
	s.sc = s.body.scope(names)
	s.message(c.Type, f, "type")
	s.decision(c.When, types.BoolKind, f, "when")
	s.message(c.Reason, f, "reason")
	s.message(c.Message, f, "message")
	s.message(c.Event, f, "event")
}

// generated checks the description of a generated value, in which nothing may be absent.
func (s section) generated(made *syntax.Generated, f facts) {
	for _, field := range made.Node.Fields {
		where := "generate." + made.Key.Value + "." + field.Key.Value
		if name := field.Key.Value; name == "dnsNames" || name == "text" {
			s.texts(field.Value, f, where)
		} else {
			s.message(field.Value, f, where)
		}
	}
}

// template follows the guards in a template. The names in it must not be absent.
func (s section) template(n *source.Node, f facts) {
	for _, field := range []string{"name", "generateName", "namespace"} {
		s.guard.at("template.metadata."+field).text(n.At("metadata", field), f)
	}
	s.guard.at("template").node(n, f)
}

func (g *guard) at(where string) *guard {
	out := *g
	out.where = where
	return &out
}

// expression evaluates an expression, if it has a type.
func (g *guard) expression(src *source.Expr, f facts) outcome {
	t := g.expressions.checked(src)
	if t == nil {
		return outcome{}
	}
	inner := *g
	inner.t = t
	return inner.eval(t.ast.Expr(), f)
}

// node evaluates the expressions in data.
func (g *guard) node(n *source.Node, f facts) {
	if n == nil {
		return
	}
	if len(n.Parts) == 1 {
		g.expression(n.Parts[0].Expr, f)
	} else {
		g.text(n, f)
	}
	for i, item := range n.Items {
		g.at(fmt.Sprintf("%s[%d]", g.where, i)).node(item, f)
	}
	for _, field := range n.Fields {
		g.at(joinPath(g.where, field.Key.Value)).node(field.Value, f)
	}
}

// text evaluates the expressions in a text, in which nothing may be absent.
func (g *guard) text(n *source.Node, f facts) {
	if n == nil {
		return
	}
	for _, p := range n.Parts {
		t := g.expressions.checked(p.Expr)
		if t == nil {
			continue
		}
		out := g.expression(p.Expr, f)
		if _, optional := unwrapped(t.t); !optional || out.value != nil && f.include(out.key) {
			continue
		}
		if out.value != nil && out.shown != "" {
			g.warnf(t.pos(t.ast.Expr()), "%s: %s may be absent, and text needs a value: append .orValue(...)", g.where,
				out.shown)
			continue
		}
		g.warnf(t.pos(t.ast.Expr()), "%s: the value may be absent, and text needs a value: append .orValue(...)", g.where)
	}
}
