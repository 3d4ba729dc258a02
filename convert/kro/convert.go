package kro

import (
	"go.yaml.in/yaml/v3"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/convert/foreign"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

const group = "kro.run"

// Convert turns the ResourceGraphDefinitions of files into rules. Other documents that are
// instances of these become examples.
func Convert(files []source.File) (*foreign.Result, error) {
	out := foreign.NewResult()
	var all []*definition
	for _, doc := range foreign.Documents(files, &out.Report, foreign.Interpolated) {
		switch {
		case doc.GVK.Group != group || doc.Node == nil:
		case doc.GVK.Kind == "ResourceGraphDefinition":
			if d := newDefinition(doc, &out.Report); d != nil {
				all = append(all, d)
			}
		case doc.GVK.Kind == "Graph":
			out.Report.Lost(doc.Node.Pos, "kind", "write it as a ResourceGraphDefinition, or as rules",
				"a Graph of kro's experimental API has no counterpart")
		}
	}
	kinds, err := kindsOf(all)
	if err != nil {
		return nil, err
	}
	defined := map[runtimeschema.GroupVersionKind]bool{}
	for _, d := range all {
		c := newConverter(d, kinds, &out.Report)
		rule := c.rule(out.RuleName(d.name, d.gvk.Kind))
		if d.crd.Versions[0].Schema.Properties["status"], err = statusOf(rule, kinds); err != nil {
			return nil, err
		}
		crd, err := d.crd.CRD()
		if err != nil {
			return nil, err
		}
		out.Rules, out.CRDs = append(out.Rules, rule), append(out.CRDs, crd)
		defined[d.gvk] = true
	}
	out.Examples = foreign.Examples(files, func(gvk runtimeschema.GroupVersionKind) bool { return defined[gvk] })
	return out, nil
}

// kindsOf returns the kinds that the definitions define, besides Kubernetes' own.
func kindsOf(all []*definition) (*schema.Set, error) {
	var crds []map[string]any
	for _, d := range all {
		crd, err := d.crd.CRD()
		if err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
	return schema.New(schema.Sources{CRDs: crds})
}

// A converter makes the rule of a definition.
type converter struct {
	*definition
	report *foreign.Report
	names  map[string]string // of resources and iterators, by their ids
	needs  *needs
	allow  *foreign.Allowance

	optional []optional
}

func newConverter(d *definition, kinds *schema.Set, report *foreign.Report) *converter {
	c := &converter{
		definition: d,
		report:     report,
		names:      map[string]string{},
		needs:      &needs{Needs: foreign.Needs{Root: d.crd.Versions[0].Schema}},
		allow:      &foreign.Allowance{Kinds: kinds, Cluster: d.crd.Cluster, Report: report},
	}
	for _, r := range d.resources {
		c.name(r.id)
		for _, it := range r.iterators() {
			c.name(it.Key.Value)
		}
	}
	return c
}

// name chooses the name of a resource or iterator in the rule.
func (c *converter) name(id string) {
	c.names[id] = id
	if !syntax.IsName(id) {
		c.names[id] = id + "Object"
	}
}

// rule returns the rule.
func (c *converter) rule(name string) *yaml.Node {
	lookups, children := foreign.List(), foreign.List()
	for _, r := range c.resources {
		if r.external != nil {
			if lookup := c.lookup(r); lookup != nil {
				lookups.Content = append(lookups.Content, lookup)
			}
		} else if child := c.child(r); child != nil {
			children.Content = append(children.Content, child)
		}
	}
	status := c.status()
	c.complete()
	teardown := ""
	if len(children.Content) > 1 {
		teardown = "ordered"
	}
	return foreign.Map(
		"name", foreign.Text(name),
		"for", foreign.Map("apiVersion", foreign.Text(c.gvk.GroupVersion().String()), "kind", foreign.Text(c.gvk.Kind)),
		"lookups", orNil(lookups),
		"validate", c.needs.Node(),
		"children", orNil(children),
		"status", status,
		"teardown", foreign.Bare(teardown),
		"allow", c.allow.Node(),
	)
}

func orNil(list *yaml.Node) *yaml.Node {
	if len(list.Content) == 0 {
		return nil
	}
	return list
}

// status returns the fields of the status, or nil.
func (c *converter) status() *yaml.Node {
	n := c.node.At("spec", "schema", "status")
	if n == nil || n.Kind != source.Map {
		return nil
	}
	kept := &source.Node{Kind: source.Map, Pos: n.Pos}
	for _, f := range n.Fields {
		if f.Key.Value == "conditions" {
			c.report.Lost(f.Key.Pos, "spec.schema.status.conditions", "write conditions of the rule",
				"status.conditions belongs to reconcel")
			continue
		}
		kept.Fields = append(kept.Fields, f)
	}
	out := c.data(kept, place{path: "spec.schema.status"})
	if out == nil || len(out.Fields) == 0 {
		return nil
	}
	return foreign.Data(out)
}
