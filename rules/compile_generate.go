package rules

import (
	"encoding/json"
	"slices"

	"reconcel/rules/generate"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Generated stands for a generated value in a rendering without a cluster.
const Generated = "reconcel generates this value"

// generated compiles the descriptions of generated values. Such a value is an ignored
// field: nothing that is rendered, hashed or compared contains it.
func (c *childCompiler) generated(entries []*syntax.Generated) []ignoredField {
	var out []ignoredField
	specs := generate.Specs{}
	for _, g := range entries {
		where := "generate." + g.Key.Value
		if spec, err := generate.Parse(literalSpec(g.Node)); err != nil {
			c.expressions.complain(g.Key.Pos, "%s.%s", where, err)
		} else {
			specs[g.Key.Value] = spec
		}
		b := &builder{c: c.expressions}
		b.appendNode(entry{where: where}, g.Node)
		out = append(out, ignoredField{keys: []string{"data", g.Key.Value}, ops: b.template().ops, entry: where,
			generated: true})
	}
	for _, g := range entries {
		key, known := g.Key.Value, true
		for _, source := range specs[key].Sources() {
			if !slices.ContainsFunc(entries, func(g *syntax.Generated) bool { return g.Key.Value == source }) {
				c.expressions.complain(g.Key.Pos, "generate.%s: generate has no key %q", key, source)
			}
			_, valid := specs[source]
			known = known && valid
		}
		if err := specs.Check(key); known && err != nil {
			c.expressions.complain(g.Key.Pos, "generate.%s: %s", key, err)
		}
	}
	return out
}

// literalSpec returns the description of a generated value as JSON. Valid values stand
// for those that are computed, which are checked when they are known.
func literalSpec(n *source.Node) []byte {
	known := map[string]any{}
	for _, f := range n.Fields {
		value := f.Value.Plain()
		if len(slices.Collect(f.Value.Expressions())) > 0 {
			switch f.Key.Value {
			case "dnsNames":
				value = []any{"name.example"}
			case "user":
				value = "user"
			case "text":
				value = literalParts(f.Value)
			default:
				continue
			}
		}
		known[f.Key.Value] = value
	}
	text, _ := json.Marshal(known) // It consists of what YAML and JSON have in common.
	return text
}

// literalParts returns the parts of a text with other values, in which a text stands for each that is computed.
func literalParts(list *source.Node) []any {
	var parts []any
	for _, part := range list.Items {
		if part.Kind == source.Interp {
			parts = append(parts, "text")
		} else {
			parts = append(parts, part.Value)
		}
	}
	return parts
}
