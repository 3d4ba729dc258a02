package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// A definition is what a page needs of a CustomResourceDefinition besides its schemas.
type definition struct {
	Spec struct {
		Names struct {
			Plural, Singular       string
			ShortNames, Categories []string
		}
		Versions []version
	}
}

// A version is one version of a CRD.
type version struct {
	Name                     string
	Served, Deprecated       bool
	DeprecationWarning       string
	AdditionalPrinterColumns []struct {
		Name, Description string
		Priority          int
	}
	Subresources struct {
		Scale struct{ SpecReplicasPath string }
	}
}

// A Column is one that kubectl get shows.
type Column struct {
	Name        Text
	Description Markdown
	Wide        bool // only with -o wide
}

// define adds what the CRD of a kind says about names, versions and columns.
func (p *Page) define(crd map[string]any, used string) error {
	text, err := json.Marshal(crd)
	if err != nil {
		return err
	}
	d := &definition{}
	if err := json.Unmarshal(text, d); err != nil {
		return fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	var served []Markdown
	found := version{}
	for _, v := range d.Spec.Versions {
		switch {
		case v.Name == used:
			found = v
		case v.Served && v.Deprecated:
			served = append(served, formatf("%v (deprecated)", Code(v.Name)))
		case v.Served:
			served = append(served, code(v.Name))
		}
	}
	names := codes(append([]string{d.Spec.Names.Plural, d.Spec.Names.Singular}, d.Spec.Names.ShortNames...))
	p.Names = enumerate("or", slices.DeleteFunc(names, func(name Code) bool { return name == "" }))
	p.Categories = enumerate("and", codes(d.Spec.Names.Categories))
	p.OtherVersions = enumerate("and", served)
	if found.Deprecated {
		p.Warning = Text(cmp.Or(found.DeprecationWarning, "This version is deprecated."))
	}
	p.Scaled = Code(found.Subresources.Scale.SpecReplicasPath)
	for _, c := range found.AdditionalPrinterColumns {
		p.Columns = append(p.Columns, Column{Text(c.Name), prose(c.Description), c.Priority > 0})
	}
	return nil
}

func codes(texts []string) (all []Code) {
	for _, text := range texts {
		all = append(all, Code(text))
	}
	return all
}
