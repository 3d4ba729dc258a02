package rules

import "encoding/base64"

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
