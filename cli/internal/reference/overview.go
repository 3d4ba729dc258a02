package reference

import "strings"

// overview introduces a kind: what it is for, how it is called, and an example.
func (k *kindView) overview() (Section, error) {
	s := Section{Title: compose(k.gvk.Kind), Level: 1}
	root := k.version.Schema.OpenAPIV3Schema
	if root != nil && root.Description != "" {
		s.Blocks = append(s.Blocks, Block{Text: prose(root.Description)})
	}
	if k.version.Deprecated {
		warning := k.version.DeprecationWarning
		if warning == "" {
			warning = "This version is deprecated."
		}
		s.Blocks = append(s.Blocks, Block{Text: Text{{warning, Strong}}})
	}
	s.Blocks = append(s.Blocks, table(nil, k.facts()))
	if len(k.rules) == 1 {
		if selected := k.rules[0].selection(); selected != nil {
			s.Blocks = append(s.Blocks, paragraph("reconcel acts only on resources ", selected, "."))
		}
	}
	if k.defined == nil {
		s.Blocks = append(s.Blocks, paragraph(k.gvk.Kind, " is a kind of Kubernetes: ", code("kubectl explain "+k.plural()), " describes its fields. This page says what reconcel does for it."))
		return s, nil
	}
	text, err := example(k.gvk.GroupVersion().String(), k.gvk.Kind, root)
	if err != nil {
		return s, err
	}
	s.Blocks = append(s.Blocks, paragraph("A minimal ", k.gvk.Kind, ":"), Block{YAML: text})
	return s, nil
}

func (k *kindView) plural() string {
	if k.known != nil {
		return k.known.Resource
	}
	return lower(k.gvk.Kind)
}

// facts lists the names and versions of the kind, columns and scaling.
func (k *kindView) facts() (rows [][]Text) {
	add := func(title string, parts ...any) { rows = append(rows, []Text{compose(title), compose(parts...)}) }
	add("API version", code(k.gvk.GroupVersion().String()))
	if k.known != nil {
		scope := "cluster-scoped: it has no namespace"
		if k.known.Namespaced {
			scope = "namespaced"
		}
		add("Scope", scope)
	}
	if k.defined == nil {
		return rows
	}
	if others := k.otherVersions(); len(others) > 0 {
		add("Also served as", enumerate("and", others))
	}
	names := []Text{code(k.plural())}
	for _, name := range append([]string{k.defined.Spec.Names.Singular}, k.defined.Spec.Names.ShortNames...) {
		if name != "" {
			names = append(names, code(name))
		}
	}
	add("Names for kubectl", enumerate("or", names))
	if categories := k.defined.Spec.Names.Categories; len(categories) > 0 {
		add("Categories", code(strings.Join(categories, ", ")))
	}
	if columns := k.columns(); columns != nil {
		add("Columns of kubectl get", columns)
	}
	if scale := k.version.Subresources.Scale; scale != nil {
		add("Scaling", code("kubectl scale"), " and autoscalers set ", code(strings.TrimPrefix(scale.SpecReplicasPath, ".")))
	}
	return rows
}

func (k *kindView) otherVersions() (all []Text) {
	for _, v := range k.defined.Spec.Versions {
		if v.Name == k.gvk.Version || !v.Served {
			continue
		}
		name := code(v.Name)
		if v.Deprecated {
			name = compose(name, " (deprecated)")
		}
		all = append(all, name)
	}
	return all
}

// columns names what kubectl get shows.
func (k *kindView) columns() Text {
	var all []Text
	for _, c := range k.version.AdditionalPrinterColumns {
		text := compose(Text{{c.Name, Strong}})
		if c.Description != "" {
			text = compose(text, ": ", prose(c.Description))
		}
		if c.Priority > 0 {
			text = compose(text, " (with ", code("-o wide"), ")")
		}
		all = append(all, text)
	}
	return lines(all)
}

// lines puts texts on lines of their own.
func lines(texts []Text) (all Text) {
	for i, t := range texts {
		if i > 0 {
			all = append(all, Span{Style: Break})
		}
		all = append(all, t...)
	}
	return all
}

// selection says which resources the rule is for, unless it is for all. With several rules
// for a kind, the objects of each say it.
func (v *ruleView) selection() Text {
	var parts []Text
	if patterns := v.rule.Namespaces; len(patterns) > 0 {
		var names []Text
		for _, p := range patterns {
			names = append(names, code(p))
		}
		parts = append(parts, compose("in the namespace ", enumerate("or", names)))
	}
	if !v.rule.Selector.Empty() {
		parts = append(parts, compose("with labels that match ", code(v.rule.Selector.String())))
	}
	if when := v.src.For.When; when != nil {
		parts = append(parts, compose("if ", v.words.condition(when.Text)))
	}
	if len(parts) == 0 {
		return nil
	}
	return enumerate("and", parts)
}
