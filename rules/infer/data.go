package infer

import (
	"reconcel/rules/source"
)

// data infers data.
func (r *reader) data(n *source.Node, sc *scope) value {
	if n != nil && n.Kind == source.Interp && len(n.Parts) == 1 {
		return r.expression(n.Parts[0].Expr, sc)
	}
	out := value{slot: &slot{}}
	r.place(n, out.slot, sc)
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
func (r *reader) named(n *source.Node, sc *scope) value {
	if n == nil || n.Kind != source.Map {
		return r.data(n, sc)
	}
	inner := sc.nested()
	out := value{slot: &slot{is: object}, literal: plain(n)}
	for _, f := range n.Fields {
		inner.declareLazily(f.Key.Value, func() value { return r.data(f.Value, inner) })
	}
	for _, f := range n.Fields {
		r.slots.unify(r.slots.fieldOf(out.slot, f.Key.Value).slot, inner.lookup(f.Key.Value).slot)
	}
	return out
}

// place infers data that is the value of a field, and returns what it is.
func (r *reader) place(n *source.Node, to *slot, sc *scope) value {
	if n == nil {
		return value{slot: to}
	}
	switch n.Kind {
	case source.Interp:
		return r.interp(n, to, sc)
	case source.Map:
		r.slots.unify(to, &slot{is: object})
		for _, f := range n.Fields {
			at := r.slots.fieldOf(to, f.Key.Value)
			describeBy(r.place(f.Value, at.slot, sc), at)
		}
	case source.List:
		r.slots.unify(to, newList(&slot{}))
		inner := to.find().inner
		if inner == nil { // A mistake, which validate reports.
			inner = &slot{}
		}
		for _, item := range n.Items {
			r.place(item, inner, sc)
		}
	case source.Text:
		r.literal(to, text)
	case source.Int:
		r.literal(to, integer)
	case source.Float:
		r.literal(to, number)
	case source.Bool:
		r.literal(to, boolean)
	}
	return value{slot: to}
}

// literal infers a literal: nothing new of a value whose kind is known.
func (r *reader) literal(to *slot, is kind) {
	if to.find().is == unknown {
		r.slots.unify(to, &slot{is: is})
	}
}

func (r *reader) interp(n *source.Node, to *slot, sc *scope) value {
	if len(n.Parts) == 1 {
		v := r.expression(n.Parts[0].Expr, sc)
		r.slots.unify(to, v.slot)
		return v
	}
	r.literal(to, text)
	r.printed(n, sc)
	return value{slot: to}
}

// printed infers the parts of a text.
func (r *reader) printed(n *source.Node, sc *scope) {
	for s := range n.Expressions() {
		r.expression(s, sc).slot.find().printed = true
	}
}

// describeBy gives a field of the primary the description of the field that has its value.
func describeBy(v value, at *field) {
	if v.at != nil {
		f := v.at.find()
		f.description = either(f.description, at.find().description)
	}
}
