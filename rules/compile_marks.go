package rules

import (
	"maps"
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// compileCommon compiles the labels and annotations of all objects, once for all children. They read no child: each
// would wait for itself.
func (c *objectCompiler) compileCommon() {
	src := c.src.CommonMetadata
	if src == nil {
		return
	}
	c.common = map[string]*op{}
	reads := c.expressions.readsIn(func() {
		b := &builder{c: c.expressions}
		for _, f := range src.Fields {
			c.common[f.Key.Value] = b.layer(f.Value, expr.Join("commonMetadata", f.Key.Value))
		}
	})
	for _, id := range slices.Sorted(maps.Keys(reads)) {
		c.expressions.complain(reads[id], "commonMetadata: reads the child %q, which would wait for itself", id).Hint =
			"write it into the templates that need it"
	}
}

// marks writes labels or annotations: those of all objects, those of the author, and reconcel's own. It closes labels,
// but leaves annotations open, because reconcel's are appended later.
func (b *builder) marks(key string, n *source.Node, ours []entryBytes) {
	var own *op
	if n != nil && n.Kind != source.Null {
		own = b.layer(n, b.under+"metadata."+key)
	}
	b.layers(key, own, ours)
}

// layers writes labels or annotations from several maps. Later maps take precedence.
func (b *builder) layers(key string, own *op, ours []entryBytes) {
	b.run = append(append(expr.AppendString(b.run, key), ':'), '{')
	var layers []op
	literal := true // All keys are known.
	for _, layer := range []*op{b.common[key], own} {
		if layer != nil {
			layers, literal = append(layers, *layer), literal && layer.kind == opGroup
		}
	}
	if ours != nil {
		layers = append(layers, ownLayer(ours))
	}
	if literal {
		for _, e := range lastOfEach(layers) {
			b.emitAll(e.ops)
		}
	} else {
		b.emit(op{kind: opMarks, ops: layers})
	}
	if ours != nil {
		b.close('}')
	}
}

// layer compiles a map of labels or annotations: to a group that has one for each key, or to the value of an
// expression.
func (b *builder) layer(n *source.Node, where string) *op {
	if n.Kind == source.Interp && len(n.Parts) == 1 {
		if l := b.inlinableLet(n.Parts[0].Expr); l != nil && l.src.Data.Kind == source.Map {
			n = b.inlineLet(l, n.Parts[0].Expr)
		}
	}
	o := &op{kind: opGroup, where: where, pos: n.Pos}
	switch {
	case n.Kind == source.Text, len(n.Parts) > 1:
		b.c.complain(n.Pos, "%s: must be a map, not text", where)
		return o
	case n.Kind == source.Interp:
		o.kind, o.prog = opValue, b.c.expression(n.Parts[0].Expr, expr.Any, where)
		return o
	}
	for _, f := range n.Fields {
		at := expr.Join(where, f.Key.Value)
		if syntax.IsOwn(f.Key.Value) {
			b.c.complain(f.Key.Pos, "%s: %q cannot be set: %s is reserved for reconcel", where, f.Key.Value, reserved)
		}
		o.ops = append(o.ops, op{kind: opGroup, key: f.Key.Value, where: at, pos: f.Value.Pos, ops: b.apart(func() {
			b.texts = true
			b.appendNode(keyedEntry(f.Key.Value, at), f.Value)
			b.texts = false
		})})
	}
	return o
}

// ownLayer returns the layer of reconcel's own labels.
func ownLayer(entries []entryBytes) op {
	layer := op{kind: opGroup}
	for _, e := range entries {
		lit := expr.AppendString(keyedEntry(e.key, "").lit, e.value)
		layer.ops = append(layer.ops, op{kind: opGroup, key: e.key, ops: []op{{kind: opLiteral, lit: append(lit, ',')}}})
	}
	return layer
}

// lastOfEach returns the last entry of each key in groups, sorted by key.
func lastOfEach(layers []op) []op {
	last := map[string]op{}
	for _, layer := range layers {
		for _, e := range layer.ops {
			last[e.key] = e
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b op) int { return strings.Compare(a.key, b.key) })
}

// apart returns the operations that compile emits, instead of emitting them.
func (b *builder) apart(compile func()) []op {
	ops, run := b.ops, b.run
	b.ops, b.run = nil, nil
	compile()
	b.flush()
	inner := b.ops
	b.ops, b.run = ops, run
	return inner
}

// emitAll emits operations.
func (b *builder) emitAll(ops []op) {
	for _, o := range ops {
		if o.kind == opLiteral {
			b.run = append(b.run, o.lit...)
		} else {
			b.emit(o)
		}
	}
}
