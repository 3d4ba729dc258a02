package reference

import (
	"slices"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// lookupTitle names the objects that a lookup finds.
func (v *ruleView) lookupTitle(l *syntax.Lookup) Text {
	kind := l.Kind.Value
	switch {
	case l.Name != nil:
		return compose("the "+kind+" ", code(v.names.text(l.Name)))
	case l.Names != nil:
		return compose("the "+kind+" objects named ", v.data(l.Names))
	}
	if only := l.Selector.At("matchLabels"); only != nil && only.Kind == source.Map && len(l.Selector.Fields) == 1 {
		var all []Text
		for _, f := range only.Fields {
			all = append(all, code(f.Key.Value+"="+v.names.text(f.Value)))
		}
		return compose("the "+kind+" objects with the label ", enumerate("and", all))
	}
	return compose("the "+kind+" objects that match ", v.data(l.Selector))
}

// data shows data of the rules: an expression as a field or as it is written, and anything
// else as JSON.
func (v *ruleView) data(n *source.Node) Text {
	if e := alone(n); e != nil {
		if value, ok := v.fieldOf(e); ok {
			return value
		}
		return v.words.written(e.Text)
	}
	return code(literal(v.plain(n)))
}

// alone returns the expression that a node consists of, or nil.
func alone(n *source.Node) *source.Expr {
	if n == nil || n.Kind != source.Interp || len(n.Parts) != 1 {
		return nil
	}
	return n.Parts[0].Expr
}

// plain returns data with its expressions as names show them.
func (v *ruleView) plain(n *source.Node) any {
	switch n.Kind {
	case source.Interp:
		return v.names.text(n)
	case source.List:
		var all []any
		for _, item := range n.Items {
			all = append(all, v.plain(item))
		}
		return all
	case source.Map:
		all := map[string]any{}
		for _, f := range n.Fields {
			all[f.Key.Value] = v.plain(f.Value)
		}
		return all
	}
	return n.Plain()
}

// lookups lists the objects that the rule reads, a row for each.
func (v *ruleView) lookups() (rows [][]Text) {
	for _, l := range v.src.Lookups {
		title := v.lookupTitle(l).upper()
		for _, n := range []*source.Node{l.Names, l.Selector} {
			if e := alone(n); e != nil {
				if _, ok := v.fieldOf(e); !ok {
					title = compose(title, v.words.where(e.Text))
				}
			}
		}
		rows = append(rows, []Text{title, v.lookupNamespace(l), v.readers(l.ID.Value)})
	}
	return rows
}

func (v *ruleView) lookupNamespace(l *syntax.Lookup) Text {
	if v.kinds.Scope(schemaKind(l)) == schema.ClusterScoped {
		return compose("none: cluster-scoped")
	}
	if l.Namespace == nil {
		return compose("that of the " + v.kind)
	}
	if namespace := v.names.text(l.Namespace); namespace != "" {
		return code(namespace)
	}
	return compose("all")
}

// readers says what reads a lookup.
func (v *ruleView) readers(id string) Text {
	var all []Text
	add := func(t Text) { all = append(all, t.upper()) }
	for _, e := range v.graph.Edges {
		if read := v.graph.Parts[e.Read]; read.Kind != rules.LookupPart || read.ID != id {
			continue
		}
		reader := v.graph.Parts[e.Reader]
		if c := v.childOf(reader); c != nil {
			add(v.title(c))
			continue
		}
		switch reader.Kind {
		case rules.LookupPart:
			add(v.words.objects[reader.ID])
		case rules.ValidatePart:
			add(compose("checks"))
		case rules.PatchPart:
			add(compose("fields of the " + v.kind))
		case rules.StatusPart:
			add(compose("the status"))
		case rules.ConditionPart:
			first := slices.IndexFunc(v.graph.Parts, func(p rules.Part) bool { return p.Kind == rules.ConditionPart })
			add(compose("the condition ", code(v.names.text(v.src.Conditions[e.Reader-first].Type))))
		}
	}
	return lines(all)
}
