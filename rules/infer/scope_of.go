package infer

import (
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// scoped notes what a rule says about whether its primary has a namespace. Objects beside it,
// and reading its namespace, need one. What is elsewhere needs none.
func (in *inference) scoped(p *primary, src *syntax.Rule) {
	p.beside = p.beside || len(src.For.Namespaces) > 0
	place := func(gvk runtimeschema.GroupVersionKind, namespace *source.Node, hidden bool) {
		k := in.set.Kind(gvk)
		switch {
		case k != nil && !k.Namespaced:
			p.cluster = true
		case namespace == nil || hidden:
			p.beside = true
		default:
			p.cluster = true
		}
	}
	for _, l := range src.Lookups {
		place(gvkOf(l.APIVersion, l.Kind), l.Namespace, false)
		p.beside = p.beside || readsNamespace(l.Namespace) || readsNamespace(l.Name)
	}
	for _, ch := range append(src.Children[:len(src.Children):len(src.Children)], src.Finalize...) {
		metadata := ch.Template.At("metadata")
		place(gvkOf(ch.Template.At("apiVersion").Literal(), ch.Template.At("kind").Literal()), metadata.At("namespace"),
			metadata != nil && metadata.Kind != source.Map)
		p.beside = p.beside || readsNamespace(ch.Template)
	}
	for _, l := range src.Let {
		p.beside = p.beside || readsNamespace(l.Data) || l.Expr != nil && namesNamespace(l.Expr)
	}
	p.beside = p.beside || readsNamespace(src.Status)
}

func readsNamespace(n *source.Node) bool {
	for e := range n.Expressions() {
		if namesNamespace(e) {
			return true
		}
	}
	return false
}

func namesNamespace(e *source.Expr) bool { return strings.Contains(e.Text, "self.metadata.namespace") }
