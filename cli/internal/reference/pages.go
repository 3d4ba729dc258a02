package reference

import (
	"fmt"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/syntax"
)

// A Source is what pages are made of.
type Source struct {
	Loaded *rules.Loaded // without errors
	Kinds  *schema.Set   // also the kinds of Definitions
	// Definitions are decoded CustomResourceDefinitions of apiextensions.k8s.io/v1.
	Definitions map[runtimeschema.GroupKind]map[string]any
	// ExcludedWith is what check.Found has.
	ExcludedWith map[*syntax.Child][]string
}

// Pages returns a page for each kind that rules are for and that is wanted, in the order of
// the rules.
func Pages(from Source, wanted func(runtimeschema.GroupVersionKind) bool) (pages []*Page, err error) {
	for _, p := range from.Loaded.Program.Primaries() {
		if p.ForCluster() || !wanted(p.GVK) {
			continue
		}
		page, err := from.page(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.GVK.Kind, err)
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// A kindView is what a page says of one kind.
type kindView struct {
	gvk     runtimeschema.GroupVersionKind
	known   *schema.Kind // nil: no schema of the kind is known
	defined *definition  // nil: the kind is one of Kubernetes itself
	version version
	rules   []*ruleView
}

func (s Source) page(p *rules.Primary) (*Page, error) {
	k := &kindView{gvk: p.GVK, known: s.Kinds.Kind(p.GVK)}
	if object := s.Definitions[p.GVK.GroupKind()]; object != nil {
		d, err := readDefinition(object)
		if err != nil {
			return nil, err
		}
		if k.version, err = d.version(p.GVK.Version); err != nil {
			return nil, err
		}
		k.defined = d
	}
	for _, r := range p.Rules {
		k.rules = append(k.rules, newRuleView(r, s.written(r), s))
	}
	if len(k.rules) > 1 {
		for _, v := range k.rules {
			v.only = v.selection()
		}
	}
	page := &Page{Kind: p.GVK.Kind, Group: p.GVK.Group}
	first, err := k.overview()
	if err != nil {
		return nil, err
	}
	page.Sections = slices.Concat([]Section{first}, k.fields(), k.checks(), k.created(), k.deleted(), k.status(), []Section{k.conditions()})
	return page, nil
}

// written returns a rule as it is written.
func (s Source) written(r *rules.Rule) *syntax.Rule {
	for _, src := range s.Loaded.File.Rules {
		if src.Name.Value == r.Name && runtimeschema.FromAPIVersionAndKind(src.For.APIVersion.Value, src.For.Kind.Value) == r.GVK {
			return src
		}
	}
	return nil
}

// article returns a kind with its article.
func article(kind string) string {
	if strings.ContainsAny(kind[:1], "AEIO") {
		return "an " + kind
	}
	return "a " + kind
}

func lower(kind string) string { return strings.ToLower(kind) }

func schemaKind(l *syntax.Lookup) runtimeschema.GroupKind {
	return runtimeschema.FromAPIVersionAndKind(l.APIVersion.Value, l.Kind.Value).GroupKind()
}

// fields describes the spec, and whatever else users write beside metadata.
func (k *kindView) fields() []Section {
	root := k.version.Schema.OpenAPIV3Schema
	if root == nil {
		return nil
	}
	s := Section{Title: compose("Fields"), Level: 2}
	var fields []field
	for _, f := range fieldsIn("", root) {
		if slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, f.path) {
			continue
		}
		if f.path != "spec" || f.schema.Default != nil || len(f.schema.Properties) == 0 {
			fields = append(fields, f)
		}
		fields = append(fields, fieldsOf(f.path, f.schema)...)
	}
	if len(fields) == 0 {
		s.Blocks = []Block{{Text: compose(article(k.gvk.Kind), " has no fields of its own.").upper()}}
	} else {
		s.Blocks = []Block{specTable(fields)}
	}
	return []Section{s}
}

// status describes the status, except for the conditions, which have their own section.
func (k *kindView) status() []Section {
	status := k.version.property("status")
	if status == nil {
		return nil
	}
	fields := fieldsOf("status", status, "status.conditions")
	if len(fields) == 0 {
		return nil
	}
	return []Section{{Title: compose("Status"), Level: 2, Blocks: []Block{paragraph("reconcel writes these fields."), statusTable(fields)}}}
}

// created describes the objects of all rules.
func (k *kindView) created() []Section {
	s := Section{Title: compose("What is created"), Level: 2}
	var objects []Section
	var rows [][]Text
	for _, v := range k.rules {
		objects = append(objects, v.created()...)
		rows = append(rows, v.lookups()...)
		if own := v.own(); own != nil {
			s.Blocks = append(s.Blocks, Block{Text: own})
		}
	}
	if len(objects) > 0 {
		place := ", and are in its namespace unless another one is given"
		if k.known != nil && !k.known.Namespaced {
			place = ""
		}
		s.Blocks = append(s.Blocks, paragraph("These objects belong to ", article(k.gvk.Kind), place, ". reconcel restores them when they are changed or deleted, and deletes those that the ", k.gvk.Kind, " no longer asks for. ",
			"What is in angle brackets comes from the ", k.gvk.Kind, ": ", code("<name>"), " is its name."))
	}
	if slices.ContainsFunc(k.rules, (*ruleView).readsObjects) {
		s.Blocks = append(s.Blocks, paragraph("An object that reads values of another one waits until they exist. It is not created without that one, unless the values are optional."))
	}
	if len(rows) > 0 {
		s.Blocks = append(s.Blocks, Block{Text: compose(article(k.gvk.Kind), " reads these objects, and does not create them. What needs one that does not exist waits for it:").upper()},
			table([]string{"Object", "Namespace", "Read for"}, rows))
	}
	if len(s.Blocks) == 0 {
		return nil
	}
	return append([]Section{s}, objects...)
}
