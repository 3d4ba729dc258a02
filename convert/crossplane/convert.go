package crossplane

import (
	"cmp"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/convert/foreign"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Convert turns the Compositions of files into rules. Other documents that are composite
// resources become examples.
func Convert(files []source.File) (*foreign.Result, error) {
	out := foreign.NewResult()
	defined := map[runtimeschema.GroupVersionKind]*composite{}
	var composites []*composite
	var compositions []foreign.Document
	for _, doc := range foreign.Documents(files, &out.Report, foreign.Verbatim) {
		switch {
		case doc.GVK.Group != group:
		case doc.GVK.Kind == "CompositeResourceDefinition":
			if c := newComposite(doc, &out.Report); c != nil {
				composites = append(composites, c)
				for _, gvk := range c.gvks() {
					defined[gvk] = c
				}
			}
		case doc.GVK.Kind == "Composition":
			compositions = append(compositions, doc)
		}
	}
	of := map[runtimeschema.GroupVersionKind]bool{}
	for _, doc := range compositions {
		gvk := kindOf(doc.Node.At("spec", "compositeTypeRef"))
		if of[gvk] {
			out.Report.Lost(doc.Node.Pos, "spec.compositeTypeRef",
				"import it alone, and choose in for.when which resources each rule is for",
				"another Composition for %s, whose resources choose one", gvk.Kind)
			continue
		}
		of[gvk] = true
		rule, err := newConverter(doc, defined[gvk], gvk, &out.Report).rule(out.RuleName(doc.Name, gvk.Kind))
		if err != nil {
			return nil, err
		}
		out.Rules = append(out.Rules, rule)
	}
	for _, c := range composites {
		crd, err := c.crd.CRD()
		if err != nil {
			return nil, err
		}
		out.CRDs = append(out.CRDs, crd)
	}
	out.Examples = foreign.Examples(files, func(gvk runtimeschema.GroupVersionKind) bool { return defined[gvk] != nil })
	return out, nil
}

func kindOf(n *source.Node) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(n.At("apiVersion").Literal().Value, n.At("kind").Literal().Value)
}

// A converter makes the rule of a Composition.
type converter struct {
	node       *source.Node
	of         *composite // nil: it is not in the input
	gvk        runtimeschema.GroupVersionKind
	report     *foreign.Report
	needs      *foreign.Needs
	allow      *foreign.Allowance
	patchSets  map[string]*source.Node
	resources  []*composed
	lookups    *yaml.Node
	lookedUp   map[string]bool
	status     *source.Node
	patched    *source.Node // of the primary
	connection *source.Node // data of its connection Secret
}

// A composed resource is a child in the making.
type composed struct {
	name, id, path string
	pos            source.Pos
	base           *source.Node
	optional       map[*source.Node]bool // values of patches that may be absent
	readyWhen      string
}

func newConverter(doc foreign.Document, of *composite, gvk runtimeschema.GroupVersionKind,
	report *foreign.Report) *converter {
	c := &converter{
		node: doc.Node, of: of, gvk: gvk, report: report, needs: &foreign.Needs{},
		allow:     &foreign.Allowance{Kinds: schema.Builtin(), Report: report},
		patchSets: map[string]*source.Node{}, lookups: foreign.List(), lookedUp: map[string]bool{},
	}
	if of == nil {
		report.Note(doc.Node.Pos, "spec.compositeTypeRef", "import it together with the CompositeResourceDefinition",
			"the schema of %s is not in the input", gvk.Kind)
		return c
	}
	c.needs.Root = of.version(gvk.Version)
	c.allow.Cluster = of.crd.Cluster
	return c
}

// rule returns the rule.
func (c *converter) rule(name string) (*yaml.Node, error) {
	if pipeline := c.node.At("spec", "pipeline"); pipeline != nil {
		for i, step := range pipeline.Items {
			c.step(step, fmt.Sprintf("spec.pipeline[%d]", i))
		}
	} else {
		c.input(c.node.At("spec"), "spec")
	}
	for _, key := range []string{"environment", "writeConnectionSecretsToNamespace",
		"publishConnectionDetailsWithStoreConfigRef"} {
		if n := c.node.At("spec", key); n != nil {
			c.report.Lost(n.Pos, "spec."+key, "read the objects with lookups", "has no counterpart")
		}
	}
	children := foreign.List()
	for _, r := range c.resources {
		children.Content = append(children.Content, c.child(r))
	}
	secret, err := c.connectionSecret()
	if err != nil {
		return nil, err
	}
	if secret != nil {
		children.Content = append(children.Content, secret)
		c.declareSecret()
	}
	return foreign.Map(
		"name", foreign.Text(name),
		"for", foreign.Map("apiVersion", foreign.Text(c.gvk.GroupVersion().String()), "kind", foreign.Text(c.gvk.Kind)),
		"lookups", orNil(c.lookups),
		"validate", c.needs.Node(),
		"children", orNil(children),
		"patch", dataOrNil(c.patched),
		"status", dataOrNil(c.status),
		"allow", c.allow.Node(),
	), nil
}

func orNil(list *yaml.Node) *yaml.Node {
	if len(list.Content) == 0 {
		return nil
	}
	return list
}

func dataOrNil(n *source.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	return foreign.Data(n)
}

// declareSecret adds the reference to the connection Secret to the schema: Crossplane adds
// it to every composite resource.
func (c *converter) declareSecret() {
	if c.needs.Root == nil {
		return
	}
	names := []string{"name"}
	if c.allow.Cluster {
		names = append(names, "namespace")
	}
	ref := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Required: names,
		Properties: map[string]spec.Schema{}}}
	for _, name := range names {
		ref.Properties[name] = *spec.StringProperty()
	}
	of := c.needs.Root.Properties["spec"]
	if of.Properties == nil {
		of.Type, of.Properties = spec.StringOrArray{"object"}, map[string]spec.Schema{}
	}
	of.Properties[secretRef] = ref
	c.needs.Root.Properties["spec"] = of
}

// step converts a step of a pipeline.
func (c *converter) step(n *source.Node, path string) {
	function := n.At("functionRef", "name").Literal().Value
	input := n.At("input")
	switch {
	case strings.HasPrefix(input.At("apiVersion").Literal().Value, "pt.fn.crossplane.io/"):
		c.input(input, path+".input")
	case strings.Contains(function, "auto-ready"): // Readiness follows from the children.
	default:
		c.report.Lost(n.Pos, path, "write its resources as children", "the function %s has no counterpart", function)
	}
}

// input converts the resources of a patch-and-transform.
func (c *converter) input(n *source.Node, path string) {
	if sets := n.At("patchSets"); sets != nil {
		for _, set := range sets.Items {
			c.patchSets[set.At("name").Literal().Value] = set.At("patches")
		}
	}
	if environment := n.At("environment"); environment != nil && n != c.node.At("spec") {
		c.report.Lost(environment.Pos, path+".environment", "read the objects with lookups",
			"the environment has no counterpart")
	}
	if list := n.At("resources"); list != nil {
		for i, r := range list.Items {
			c.resource(r, fmt.Sprintf("%s.resources[%d]", path, i))
		}
	}
}

// resource converts a composed resource, or adds patches to one of an earlier step.
func (c *converter) resource(n *source.Node, path string) {
	name := cmp.Or(n.At("name").Literal().Value, fmt.Sprintf("resource-%d", len(c.resources)+1))
	var r *composed
	for _, earlier := range c.resources {
		if earlier.name == name {
			r = earlier
		}
	}
	if base := n.At("base"); base != nil && r == nil {
		r = &composed{name: name, id: c.id(name), path: path, pos: base.Pos, optional: map[*source.Node]bool{}}
		r.base = c.named(foreign.Template(base, c.report, path+".base"), r)
		c.resources = append(c.resources, r)
	}
	if r == nil {
		c.report.Lost(n.Pos, path, "write its base", "the resource %q has no base", name)
		return
	}
	c.patches(r, n.At("patches"), path+".patches")
	if ready := c.readyWhen(n.At("readinessChecks"), path+".readinessChecks"); ready != "" {
		r.readyWhen = ready
	}
	c.connectionDetails(r, n.At("connectionDetails"), path+".connectionDetails")
}

// named returns a base with the default of its name. Crossplane adds a random suffix to the
// name of the composite resource.
func (c *converter) named(base *source.Node, r *composed) *source.Node {
	metadata := base.At("metadata")
	if metadata.At("name") != nil {
		return base
	}
	suffix := strings.Trim(strings.Map(func(r rune) rune {
		if source.IsIdent(r) && r != '_' {
			return r
		}
		return '-'
	}, strings.ToLower(r.name)), "-")
	name := &source.Node{Kind: source.Interp, Pos: base.Pos,
		Parts: []source.Part{{Expr: &source.Expr{Text: "self.metadata.name", Pos: base.Pos}}, {Text: "-" + suffix}}}
	kept := &source.Node{Kind: source.Map, Pos: base.Pos,
		Fields: []source.Field{{Key: source.String{Value: "name", Pos: base.Pos}, Value: name}}}
	if metadata != nil {
		for _, f := range metadata.Fields {
			if f.Key.Value != "generateName" {
				kept.Fields = append(kept.Fields, f)
			}
		}
	}
	out, _ := put(base, []step{{key: "metadata"}}, base.Pos,
		func(*source.Node) (*source.Node, error) { return kept, nil }) // A base is a map.
	return out
}

// id returns a name for a resource in expressions.
func (c *converter) id(name string) string {
	var b strings.Builder
	up := false
	for _, r := range name {
		switch {
		case !source.IsIdent(r) || r == '_':
			up = b.Len() > 0
			continue
		case up:
			b.WriteString(strings.ToUpper(string(r)))
		default:
			b.WriteRune(r)
		}
		up = false
	}
	id := b.String()
	if !syntax.IsName(id) || id == "connection" {
		id = "the" + strings.ToUpper(id[:min(1, len(id))]) + id[min(1, len(id)):]
	}
	for _, other := range c.resources {
		if other.id == id {
			return id + fmt.Sprint(len(c.resources)+1)
		}
	}
	return id
}

// child returns a resource as a child.
func (c *converter) child(r *composed) *yaml.Node {
	c.allow.Child(kindOf(r.base), r.base.At("metadata", "namespace"), r.pos, r.path+".base")
	return foreign.Map("id", foreign.Text(r.id), "readyWhen", foreign.Bare(r.readyWhen), "template", foreign.Data(r.base))
}
