package rules

import (
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// computedMetadata compiles metadata that is one expression. The name and the namespace
// decide which object the child is, so they are written out in it: they are known
// without the labels, which may wait for other objects, and can be checked here.
func (c *objectCompiler) computedMetadata(b *builder, ch *Child, n *source.Node) {
	src := n.Parts[0].Expr
	if src == nil {
		return // The parser has recorded an error.
	}
	checked := c.expressions.check(c.scope, src, expr.Any, "metadata")
	if checked == nil {
		return
	}
	prog := c.expressions.program(checked, "metadata")
	if prog == nil {
		return
	}
	key := "name"
	if ch.HasReplicas() {
		key = "generateName"
	}
	if ch.name = c.entry(ch, checked, src, key); ch.name == nil {
		c.expressions.complain(src.Pos, "metadata: the %s must be written out in the last map of the expression", key).Hint =
			"write " + hintMetadata(src.Text, key)
		return
	}
	ch.namespace = c.entry(ch, checked, src, "namespace")
	if trail, _ := prog.Volatile(); strings.HasSuffix(trail, ".metadata") {
		c.expressions.complain(src.Pos, "metadata: %s has fields that only the API server sets", trail).Hint =
			`take single fields from it, such as {?"labels": ` + trail + ".?labels}"
	}
	for _, key := range prog.Shape().Keys() {
		if why := ch.refusesMetadata(key); why != "" {
			c.expressions.complain(src.Pos, "metadata: %s %s", key, why)
		}
	}
	field := func(kind opKind, key string) op {
		return op{kind: kind, key: key, where: "metadata." + key, pos: src.Pos}
	}
	o := field(opMetadata, "")
	o.prog, o.where = prog, "metadata"
	b.emit(o)
	o = field(opValue, "finalizers")
	o.lit, o.omit = keyedEntry(o.key, "").lit, b.omit
	b.emit(o)
	o = field(opValue, "labels")
	b.layers(o.key, &o, c.ownLabels(ch))
	c.appendIdentity(b, ch)
	o = field(opValue, "annotations")
	b.layers(o.key, &o, nil)
	c.appendOwnAnnotations(b, ch)
}

// entry compiles the name or namespace in an expression for metadata. It returns nil if it
// is not written out.
func (c *objectCompiler) entry(ch *Child, checked *expr.Checked, src *source.Expr, key string) *text {
	where := "metadata." + key
	entry := checked.Entry(key)
	if entry == nil {
		return nil
	}
	t := &text{where: where, pos: src.Pos}
	switch v := entry.Literal().(type) {
	case nil:
		t.parts = []textPart{{prog: c.expressions.program(entry, where)}}
	case string:
		literal := &source.Node{Kind: source.Text, Value: v, Pos: src.Pos}
		c.checkLiteralNames(ch, &source.Node{Kind: source.Map,
			Fields: []source.Field{{Key: source.String{Value: key}, Value: literal}}})
		t.parts = []textPart{{literal: v}}
	case types.Null:
		return nil // As in a map of YAML, it leaves the entry out.
	default:
		c.expressions.complain(src.Pos, "%s: must be text", where)
	}
	return t
}

// hintMetadata returns an expression for metadata that has the name in its last map.
func hintMetadata(text, key string) string {
	switch {
	case strings.HasSuffix(text, ".metadata"):
		return `${{"` + key + `": ..., ?"labels": ` + text + ".?labels}}"
	case len(text) > 40 || strings.Contains(text, "\n"):
		text = "common"
	}
	return "${merge(" + text + `, {"` + key + `": ...})}`
}

// refusesMetadata returns why an expression for metadata cannot have a key, or "".
func (c *Child) refusesMetadata(key string) string {
	switch {
	case key == "namespace" && c.namespace == nil:
		return "must be written out in the last map of the expression, beside the name"
	case key == "name" && c.HasReplicas():
		return "cannot be set: each of the replicas gets its own"
	case key == "generateName" && !c.HasReplicas():
		return "cannot be set: the name must be known beforehand"
	}
	return syntax.RefusedMetadata(key)
}
