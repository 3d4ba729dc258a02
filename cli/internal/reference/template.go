package reference

import (
	"cmp"
	_ "embed" // for the template
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// pageTemplate is a template of text/template, without methods, variables and pipelines.
//
//go:embed page.tmpl
var pageTemplate string

// A document is what the template is filled in for.
type document struct {
	Several bool
	Pages   []*Page
}

// Write returns pages as one document.
func Write(pages []*Page) ([]byte, error) {
	trees, err := parse.Parse("document", pageTemplate, "", "", map[string]any{"row": row})
	if err != nil {
		return nil, fmt.Errorf("read the template of pages: %w", err)
	}
	f := &filler{trees: trees}
	f.fill(trees["document"].Root, reflect.ValueOf(document{len(pages) > 1, pages}))
	return []byte(strings.TrimSpace(f.String()) + "\n"), nil
}

// A filler fills a template in. text/template does the same, but it finds methods by name: the
// linker would keep all methods of all types, 14 MB of them.
type filler struct {
	strings.Builder
	trees map[string]*parse.Tree
}

// fill writes a part of the template for a value.
func (f *filler) fill(part parse.Node, dot reflect.Value) {
	switch part := part.(type) {
	case *parse.TextNode:
		f.Write(part.Text)
	case *parse.ActionNode:
		fmt.Fprint(f, f.value(part.Pipe, dot))
	case *parse.TemplateNode:
		f.fill(f.trees[part.Name].Root, f.value(part.Pipe, dot))
	case *parse.RangeNode:
		for _, element := range f.value(part.Pipe, dot).Seq2() {
			f.fill(part.List, element)
		}
	case *parse.IfNode:
		branch := part.List
		if of := f.value(part.Pipe, dot); of.IsZero() || of.Kind() == reflect.Slice && of.Len() == 0 {
			branch = part.ElseList
		}
		f.fill(branch, dot)
	case *parse.ListNode:
		if part == nil { // There is no else.
			return
		}
		for _, node := range part.Nodes {
			f.fill(node, dot)
		}
	}
}

// value returns a field, the value itself, or a row of fields.
func (f *filler) value(of *parse.PipeNode, dot reflect.Value) reflect.Value {
	args := of.Cmds[0].Args
	if args[0].Type() != parse.NodeIdentifier {
		return operand(args[0], dot)
	}
	var cells []any
	for _, arg := range args[1:] {
		cells = append(cells, operand(arg, dot).Interface())
	}
	return reflect.ValueOf(row(cells...))
}

func operand(arg parse.Node, dot reflect.Value) reflect.Value {
	if field, ok := arg.(*parse.FieldNode); ok {
		return reflect.Indirect(dot).FieldByName(field.Ident[0])
	}
	return dot
}

// A Column is one that kubectl get shows.
type Column struct {
	Name        Text
	Description Markdown
	Wide        bool // only with -o wide
}

// define adds what the CRD of a kind says about names, versions and columns.
func (p *Page) define(crd map[string]any, used string) error {
	d := &v1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd, d); err != nil {
		return fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	var served []Markdown
	found := v1.CustomResourceDefinitionVersion{}
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
		p.Warning = Text(cmp.Or(ptr.Deref(found.DeprecationWarning, ""), "This version is deprecated."))
	}
	if of := found.Subresources; of != nil && of.Scale != nil {
		p.Scaled = Code(of.Scale.SpecReplicasPath)
	}
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
