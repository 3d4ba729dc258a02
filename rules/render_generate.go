package rules

import (
	"encoding/base64"
	"slices"

	"reconcel/rules/generate"
)

// checkGenerated returns an error for a description of a generated value that is wrong.
func (r *writing) checkGenerated(d *Desired, text []byte) result {
	if _, err := generate.Parse(text); err != nil {
		return failedAt(d.Child.Pos, err.Error())
	}
	return result{}
}

// Generated returns the descriptions of the generated values, or nil if the object has
// none. The object must be Rendered.
func (d *Desired) Generated() generate.Specs {
	var specs generate.Specs
	for i, f := range d.Child.ignored {
		if !f.generated || i >= len(d.ignored) {
			continue
		}
		spec, err := generate.Parse(d.ignored[i].json)
		if err != nil {
			continue // The rendering has failed.
		}
		if specs == nil {
			specs = generate.Specs{}
		}
		specs[f.keys[1]] = spec
	}
	return specs
}

// Generates reports whether the child is a Secret with generated values.
func (c *Child) Generates() bool { return len(c.ignored) > 0 && c.ignored[len(c.ignored)-1].generated }

// GeneratedKeys returns the keys of the Secret's data that have generated values, sorted.
func (c *Child) GeneratedKeys() []string {
	var keys []string
	for _, f := range c.ignored {
		if f.generated {
			keys = append(keys, f.keys[1])
		}
	}
	slices.Sort(keys)
	return keys
}

// GeneratedData returns generated values as fields of the Secret.
func GeneratedData(values map[string][]byte) []FieldValue {
	var out []FieldValue
	for key, value := range values {
		out = append(out, FieldValue{Path: []string{"data", key}, Value: base64.StdEncoding.EncodeToString(value)})
	}
	return out
}

// ChildOf returns the child that made an object, as the labels of the object say, or nil.
func (p *Program) ChildOf(object map[string]any) *Child {
	labels := LabelsOf(object)
	for _, primary := range p.primaries {
		for _, r := range primary.Rules {
			if r.Name != labels.Get(LabelRule) {
				continue
			}
			for _, c := range r.Children {
				if c.ID == labels.Get(LabelChild) {
					return c
				}
			}
		}
	}
	return nil
}

// HideGenerated replaces the generated values in the data of a Secret by Generated. It
// changes the object.
func (p *Program) HideGenerated(object map[string]any) {
	data, _ := object["data"].(map[string]any)
	c := p.ChildOf(object)
	if c == nil || len(data) == 0 {
		return
	}
	for _, key := range c.GeneratedKeys() {
		if data[key] != nil {
			data[key] = base64.StdEncoding.EncodeToString([]byte(Generated))
		}
	}
}
