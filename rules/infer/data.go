package infer

import (
	"reconcel/rules/source"
)

// data infers data.
func (in *inference) data(n *source.Node, sc *scope) value {
	if n != nil && n.Kind == source.Interp && len(n.Parts) == 1 {
		return in.expression(n.Parts[0].Expr, sc)
	}
	out := value{slot: &slot{}}
	in.place(n, out.slot, sc)
	if n != nil {
		out.literal = plain(n)
	}
	return out
}

// plain returns data without expressions, or nil.
func plain(n *source.Node) any {
	for range n.Expressions() {
		return nil
	}
	return n.Plain()
}

// named infers the data of a name. The entries of a map can read each other.
func (in *inference) named(n *source.Node, sc *scope) value {
	if n == nil || n.Kind != source.Map {
		return in.data(n, sc)
	}
	inner := sc.nested()
	out := value{slot: &slot{is: object}, literal: plain(n)}
	for _, f := range n.Fields {
		inner.declareLazily(f.Key.Value, func() value { return in.data(f.Value, inner) })
	}
	for _, f := range n.Fields {
		in.unify(in.fieldOf(out.slot, f.Key.Value).slot, inner.lookup(f.Key.Value).slot)
	}
	return out
}

// place infers data that is the value of a field, and returns what it is.
func (in *inference) place(n *source.Node, to *slot, sc *scope) value {
	if n == nil {
		return value{slot: to}
	}
	switch n.Kind {
	case source.Interp:
		return in.interp(n, to, sc)
	case source.Map:
		in.unify(to, &slot{is: object})
		for _, f := range n.Fields {
			at := in.fieldOf(to, f.Key.Value)
			in.describeBy(in.place(f.Value, at.slot, sc), at)
		}
	case source.List:
		in.unify(to, newList(&slot{}))
		inner := to.find().inner
		if inner == nil { // A mistake, which validate reports.
			inner = &slot{}
		}
		for _, item := range n.Items {
			in.place(item, inner, sc)
		}
	case source.Text:
		in.literal(to, text)
	case source.Int:
		in.literal(to, integer)
	case source.Float:
		in.literal(to, number)
	case source.Bool:
		in.literal(to, boolean)
	}
	return value{slot: to}
}

// literal infers a literal: nothing new of a value whose kind is known.
func (in *inference) literal(to *slot, is kind) {
	if to.find().is == unknown {
		in.unify(to, &slot{is: is})
	}
}

func (in *inference) interp(n *source.Node, to *slot, sc *scope) value {
	if len(n.Parts) == 1 {
		v := in.expression(n.Parts[0].Expr, sc)
		in.unify(to, v.slot)
		return v
	}
	in.literal(to, text)
	in.printed(n, sc)
	return value{slot: to}
}

// printed infers the parts of a text.
func (in *inference) printed(n *source.Node, sc *scope) {
	for s := range n.Expressions() {
		in.expression(s, sc).slot.find().printed = true
	}
}

// describeBy gives a field of the primary the description of the field that has its value.
func (in *inference) describeBy(v value, at *field) {
	if v.at != nil {
		f := v.at.find()
		f.description = either(f.description, at.find().description)
	}
}
