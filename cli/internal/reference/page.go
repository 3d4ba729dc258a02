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

// A Page describes one kind.
type Page struct {
	Kind, Article  Text // WebApp, a WebApp
	Anchor         Text // of its heading
	Group          string
	APIVersion     Code
	Plural         Text
	Namespaced     bool
	Custom         bool // not a kind of Kubernetes itself
	Description    Markdown
	Warning        Text // that the version is deprecated
	OtherVersions  Markdown
	Names          Markdown // for kubectl
	Categories     Markdown
	Columns        []Column
	Scaled         Code     // the field that kubectl scale sets
	Only           Markdown // which resources the rule is for, if it is the only one
	Example        Markdown
	Fields, Status []Field
	HasChecks      bool
	Accepted       []Check // by the API server
	Checked        []Check // by reconcel
	Creates        bool
	Patched        []Markdown // the fields of the resource itself that each rule sets
	Objects        []Object
	ReadsObjects   bool // one of them reads another one
	Lookups        []Lookup
	Deletes        bool
	Stays          bool // an object stays when the resource is deleted
	Ordered        bool
	Finalize       []Object // created on deletion
	Reports        bool     // the resources have the standard conditions
	Annotates      bool
	Conditions     []Condition
	Reasons        []Code // of checks
	NeedsFinalizer bool
	Shares         bool
	Orphans        bool
	Expressions    bool // some are shown
	Terms          []Term
}

// Pages returns a page for each of these kinds that rules are for.
func Pages(from Source, primaries []*rules.Primary) (pages []*Page, err error) {
	for _, p := range primaries {
		page, err := from.page(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.GVK.Kind, err)
		}
		pages = append(pages, page)
	}
	return pages, nil
}

func (s Source) page(primary *rules.Primary) (*Page, error) {
	gvk := primary.GVK
	article := "a "
	if strings.ContainsAny(gvk.Kind[:1], "AEIO") {
		article = "an "
	}
	page := &Page{
		Kind: Text(gvk.Kind), Article: Text(article + gvk.Kind), Anchor: Text(strings.ToLower(gvk.Kind)), Group: gvk.Group,
		APIVersion: Code(gvk.GroupVersion().String()), Plural: Text(strings.ToLower(gvk.Kind)),
	}
	if known := s.Kinds.Kind(gvk); known != nil {
		page.Namespaced, page.Plural = known.Namespaced, Text(known.Resource)
	}
	if crd := s.Definitions[gvk.GroupKind()]; crd != nil {
		root := s.Kinds.Schema(gvk)
		if root == nil {
			return nil, fmt.Errorf("the rules use version %s, but its CustomResourceDefinition does not serve it", gvk.Version)
		}
		if err := page.define(crd, gvk.Version); err != nil {
			return nil, err
		}
		page.describe(root)
		sample, err := example(gvk, root)
		if err != nil {
			return nil, fmt.Errorf("write an example: %w", err)
		}
		fence := fenceOf(sample, 3)
		page.Custom, page.Reports = true, s.Kinds.Conditions(gvk) != nil
		page.Example = Markdown(fence + "yaml\n" + sample + fence)
	}
	for _, r := range primary.Rules {
		v := &ruleView{newWording(s.written(r)), r, r.Graph(), s}
		only := v.selection()
		if len(primary.Rules) == 1 {
			page.Only, only = only, ""
		}
		v.add(page, only)
	}
	page.HasChecks = len(page.Accepted)+len(page.Checked) > 0
	page.Creates = len(page.Objects)+len(page.Lookups)+len(page.Patched) > 0
	page.Deletes = len(page.Objects)+len(page.Finalize) > 0
	return page, nil
}

// written returns a rule as it is written.
func (s Source) written(r *rules.Rule) *syntax.Rule {
	at := slices.IndexFunc(s.Loaded.File.Rules, func(src *syntax.Rule) bool {
		gvk := runtimeschema.FromAPIVersionAndKind(src.For.APIVersion.Value, src.For.Kind.Value)
		return src.Name.Value == r.Name && gvk == r.GVK
	})
	return s.Loaded.File.Rules[at]
}
