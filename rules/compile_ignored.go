package rules

import (
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An ignoredField is set when an object is created, and belongs to others
// afterwards. The hashed and compared rendering does not contain it. With a
// condition, the field is ignored only in renderings whose condition is true.
type ignoredField struct {
	keys  []string
	ops   []op          // write its value, or nothing
	when  *expr.Program // or nil: always
	entry string        // of ignoreFields or generate, for messages

	generated bool // ops write a generate.Spec instead of the value
}

// ignoring sets the fields that the rendering omits.
func ignoring(b *builder, paths []*syntax.FieldPath, conditions map[*syntax.FieldPath]*expr.Program) {
	b.ignored, b.conditions = map[string]*syntax.FieldPath{}, conditions
	for _, p := range paths {
		b.ignored[whereOf(p.Keys)] = p
	}
}

// ignoredWhen compiles the conditions of ignored fields.
func (c *childCompiler) ignoredWhen(paths []*syntax.FieldPath) map[*syntax.FieldPath]*expr.Program {
	out := map[*syntax.FieldPath]*expr.Program{}
	for _, p := range paths {
		out[p] = c.expressions.expression(p.When, expr.Bool, p.Entry+".when")
	}
	return out
}

func whereOf(keys []string) string {
	where := ""
	for _, k := range keys {
		where = expr.Join(where, k)
	}
	return where
}

// ignore compiles an ignored field separately from the other fields.
func (b *builder) ignore(p *syntax.FieldPath, n *source.Node, e entry) {
	inner := &builder{c: b.c, omit: b.omit, texts: b.texts}
	inner.appendNode(entry{where: e.where}, n)
	f := ignoredField{keys: p.Keys, ops: inner.template().ops, when: b.conditions[p], entry: p.Entry}
	if p.When != nil {
		b.emit(op{kind: opIgnorable, lit: e.lit, key: e.key, omit: b.omit, ops: f.ops, index: len(b.ignoring), where: e.where,
			pos: n.Pos})
	}
	b.ignoring = append(b.ignoring, f)
}

// checkIgnored records an error for paths that the template does not set.
func (b *builder) checkIgnored(paths []*syntax.FieldPath) {
	for _, p := range paths {
		if !slices.ContainsFunc(b.ignoring, func(f ignoredField) bool { return slices.Equal(f.keys, p.Keys) }) {
			b.c.complain(p.Pos, "%s cannot be ignored: the template does not set it as a field of its own", p.Text)
		}
	}
}

// ignorableBelow reports whether a field below a path is ignored under a condition.
func (b *builder) ignorableBelow(where string) bool {
	for at, p := range b.ignored {
		if p.When != nil && strings.HasPrefix(at, where) {
			return true
		}
	}
	return false
}

// isIgnored returns the ignored path of a field, or nil.
func (b *builder) isIgnored(e entry) *syntax.FieldPath {
	if len(b.ignored) == 0 || len(e.lit) == 0 {
		return nil
	}
	return b.ignored[strings.TrimPrefix(e.where, ".")]
}
