package foreign

import (
	"slices"

	"go.yaml.in/yaml/v3"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// An Allowance collects what a rule needs in allow.
type Allowance struct {
	Kinds   *schema.Set
	Cluster bool // the primary has no namespace
	Report  *Report

	clusterScoped    []runtimeschema.GroupKind
	namespaces, read []string
	noted            map[runtimeschema.GroupKind]bool
}

// Child records a child, whose namespace may be nil.
func (a *Allowance) Child(gvk runtimeschema.GroupVersionKind, namespace *source.Node, pos source.Pos, path string) {
	gk := gvk.GroupKind()
	scope := a.Kinds.Scope(gk)
	if scope == schema.UnknownScope && a.Cluster && namespace == nil {
		scope = schema.ClusterScoped
	}
	if scope == schema.ClusterScoped {
		if !slices.Contains(a.clusterScoped, gk) {
			a.clusterScoped = append(a.clusterScoped, gk)
		}
	} else if name := a.foreign(namespace); name != "" && !slices.Contains(a.namespaces, name) {
		a.namespaces = append(a.namespaces, name)
		if name == "*" {
			a.Report.Note(pos, path, "narrow the patterns of allow.namespaces",
				"the namespace is computed, so the rule may write to all namespaces")
		}
	}
	a.note(gvk, pos, path)
}

// note records what else it takes to have a child of a kind.
func (a *Allowance) note(gvk runtimeschema.GroupVersionKind, pos source.Pos, path string) {
	gk := gvk.GroupKind()
	if a.noted == nil {
		a.noted = map[runtimeschema.GroupKind]bool{}
	}
	if a.noted[gk] {
		return
	}
	a.noted[gk] = true
	if rules.Privileged(gk) {
		a.Report.Note(pos, path, "give validate and run the flag --allow-kind "+gk.String(), "%s is a privileged kind",
			gk.Kind)
	}
	if len(a.Kinds.Versions(gk)) == 0 {
		a.Report.Note(pos, path, "give validate its CRD with --crd", "the fields of %s are not checked without a schema", gk)
	}
}

// Lookup records a lookup, whose namespace may be nil.
func (a *Allowance) Lookup(gk runtimeschema.GroupKind, namespace *source.Node) {
	if name := a.foreign(namespace); name != "" && a.Kinds.Scope(gk) != schema.ClusterScoped &&
		!slices.Contains(a.read, name) {
		a.read = append(a.read, name)
	}
}

// AllNamespaces is the namespace of a lookup in all namespaces.
var AllNamespaces = &source.Node{Kind: source.Text, Value: ""}

// foreign returns the pattern of a namespace that is not that of the primary, or "".
func (a *Allowance) foreign(namespace *source.Node) string {
	switch {
	case namespace == nil, IsOwnNamespace(namespace):
		return ""
	case namespace.Kind == source.Text && namespace != AllNamespaces:
		return namespace.Literal().Value
	}
	return "*"
}

// IsOwnNamespace reports whether a value is the namespace of the primary.
func IsOwnNamespace(n *source.Node) bool {
	return len(n.Parts) == 1 && n.Parts[0].Expr != nil && n.Parts[0].Expr.Text == "self.metadata.namespace"
}

// Node returns allow, or nil if the rule needs none.
func (a *Allowance) Node() *yaml.Node {
	var clusterScoped, namespaces, read *yaml.Node
	if len(a.clusterScoped) > 0 {
		clusterScoped = List()
		for _, gk := range a.clusterScoped {
			clusterScoped.Content = append(clusterScoped.Content, Map("group", Text(gk.Group), "kind", Text(gk.Kind)))
		}
	}
	if len(a.namespaces) > 0 {
		namespaces = Texts(a.namespaces)
	}
	if len(a.read) > 0 {
		read = Map("namespaces", Texts(a.read))
	}
	out := Map("clusterScoped", clusterScoped, "namespaces", namespaces, "read", read)
	if len(out.Content) == 0 {
		return nil
	}
	return out
}
