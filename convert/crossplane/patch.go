package crossplane

import (
	"errors"
	"fmt"

	"reconcel/rules/source"
)

// patches applies the patches of a resource.
func (c *converter) patches(r *composed, list *source.Node, path string) {
	if list == nil {
		return
	}
	for i, p := range list.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if p.At("type").Literal().Value == "PatchSet" {
			name := p.At("patchSetName").Literal().Value
			set, known := c.patchSets[name]
			if !known {
				c.report.Lost(p.Pos, at, "name a patch set of the Composition", "there is no patch set %q", name)
			}
			c.patches(r, set, at)
			continue
		}
		if err := c.patch(r, p); err != nil {
			c.lose(err, p.Pos, at)
		}
	}
}

// lose reports what has no counterpart.
func (c *converter) lose(err error, pos source.Pos, path string) {
	instead := "write it by hand"
	if l, ok := errors.AsType[*loss](err); ok {
		pos, instead = l.pos, l.instead
	}
	c.report.Lost(pos, path, instead, "%v", err)
}

// patch applies one patch.
func (c *converter) patch(r *composed, p *source.Node) error {
	of := p.At("type").Literal().Value
	var v value
	var err error
	switch of {
	case "", "FromCompositeFieldPath":
		v, err = c.fromComposite(p.At("fromFieldPath"), p)
	case "ToCompositeFieldPath":
		v, err = fromChild(r, p.At("fromFieldPath"), p)
	case "CombineFromComposite", "CombineToComposite":
		v, err = c.combination(r, p, of)
	default:
		return lost(p, "read the object with a lookup", "a patch of the type %s has no counterpart", of)
	}
	if err == nil {
		v, err = v.apply(p.At("transforms"))
	}
	if err != nil {
		return err
	}
	to := p.At("toFieldPath")
	if to == nil {
		to = p.At("fromFieldPath")
	}
	steps, err := path(to, p)
	if err != nil {
		return err
	}
	if of == "ToCompositeFieldPath" || of == "CombineToComposite" {
		return c.toComposite(steps, v, p.Pos)
	}
	return c.toChild(r, steps, v, p)
}

func isRequired(p *source.Node) bool {
	return p.At("policy", "fromFieldPath").Literal().Value == "Required"
}

// path reads a field path of a patch.
func path(n, at *source.Node) ([]step, error) {
	if n == nil || n.Kind != source.Text {
		return nil, lost(at, "write it", "the field path is missing")
	}
	steps, err := parsePath(n.Literal().Value)
	if err != nil {
		return nil, lost(n, "correct it", "%v", err)
	}
	return steps, nil
}

// fromComposite reads a field of the composite resource for a patch.
func (c *converter) fromComposite(n, patch *source.Node) (value, error) {
	steps, err := path(n, patch)
	if err != nil {
		return value{}, err
	}
	names := keys(steps)
	for _, s := range steps {
		if s.wildcard {
			return value{}, lost(n, "write map() over the list", "[*] in fromFieldPath has no counterpart")
		}
	}
	switch {
	case len(names) > 1 && names[1] == "claimRef":
		return value{}, lost(n, "read self.metadata", "claims have no counterpart")
	case len(names) > 2 && names[1] == "labels" && names[2] == "crossplane.io/composite":
		return value{text: "self.metadata.name"}, nil
	}
	if isRequired(patch) {
		c.needs.Add(names)
		text, _ := selected("self", steps, never)
		return value{text: text}, nil
	}
	text, optional := selected("self", steps, c.lacks)
	return value{text, optional}, nil
}

// lacks reports whether a field of the composite resource may be absent.
func (c *converter) lacks(names []string) bool {
	last := names[len(names)-1]
	switch {
	case names[0] == "status", last == "[]":
		return true
	case c.needs.Root == nil:
		return len(names) > 1 && names[0] != "metadata" || len(names) > 2
	}
	return c.needs.MayLack(names)
}

// fromChild reads a field of a composed resource: what reads it waits until it is there.
func fromChild(r *composed, n, at *source.Node) (value, error) {
	steps, err := path(n, at)
	text, _ := selected(r.id, steps, never)
	return value{text: text}, err
}

// combination returns several fields as one text.
func (c *converter) combination(r *composed, p *source.Node, of string) (value, error) {
	combine := p.At("combine")
	if strategy := combine.At("strategy").Literal().Value; strategy != "string" {
		return value{}, lost(p, "write it as an expression", "the strategy %q has no counterpart", strategy)
	}
	var all []value
	variables := combine.At("variables")
	if variables == nil {
		return value{}, lost(p, "write variables", "there is nothing to combine")
	}
	for _, variable := range variables.Items {
		from := variable.At("fromFieldPath")
		v, err := fromChild(r, from, p)
		if of == "CombineFromComposite" {
			v, err = c.fromComposite(from, p)
		}
		if err != nil {
			return value{}, err
		}
		all = append(all, v)
	}
	return combined(combine.At("string", "fmt"), all)
}

// toChild puts a value into the template of a resource.
func (c *converter) toChild(r *composed, steps []step, v value, p *source.Node) error {
	merge := p.At("policy", "toFieldPath").Literal().Value
	if options := p.At("policy", "mergeOptions"); options != nil {
		merge = "ForceMergeObjects"
		if isTrue(options.At("keepMapValues")) {
			merge = "MergeObjects"
		}
		if isTrue(options.At("appendSlice")) {
			merge = "appendSlice"
		}
	}
	base, err := put(r.base, steps, p.Pos, func(old *source.Node) (*source.Node, error) {
		v := v
		if old != nil && merge != "" && merge != "Replace" {
			if v, old = merged(v, old, merge), nil; v.text == "" {
				return nil, lost(p, "write it as an expression", "the policy %s has no counterpart", merge)
			}
		}
		out, err := v.node(p.Pos, old, func(n *source.Node) bool { return r.optional[n] })
		if out != nil && v.optional && (old == nil || r.optional[old]) {
			r.optional[out] = true
		}
		return out, err
	})
	if err == nil {
		r.base = base
	}
	return err
}

// merged returns a map with the entries of the base and of a patch.
func merged(v value, old *source.Node, policy string) value {
	base, patch := literal(old), v.text
	if v.optional {
		patch += ".orValue({})"
	}
	switch policy {
	case "MergeObjects":
		return value{text: "deepMerge(" + patch + ", " + base + ")"}
	case "ForceMergeObjects":
		return value{text: "deepMerge(" + base + ", " + patch + ")"}
	}
	return value{}
}

// toComposite puts a value into the status of the primary, or into the primary itself.
func (c *converter) toComposite(steps []step, v value, pos source.Pos) error {
	to := &c.patched
	if steps[0].key == "status" {
		if len(steps) < 2 || steps[1].key == "conditions" {
			return &loss{pos, "status.conditions belongs to reconcel", "write conditions of the rule"}
		}
		to, steps = &c.status, steps[1:]
	}
	changed, err := put(*to, steps, pos, func(*source.Node) (*source.Node, error) {
		return v.node(pos, nil, nil)
	})
	if err == nil {
		*to = changed
	}
	return err
}
