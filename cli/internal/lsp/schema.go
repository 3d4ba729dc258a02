package lsp

import (
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/check"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// language is the schema of rules files.
var language = syntax.Schema()

// keySchema returns what the language says about the value at a path, or nil.
func keySchema(path []string) *source.Schema {
	at := language
	for _, key := range path {
		if at = below(at, key); at == nil {
			return nil
		}
	}
	return at
}

// below returns the schema of a key, or of the items of a list for "".
func below(at *source.Schema, key string) *source.Schema {
	if key == "" && at.Items != nil {
		return at.Items
	}
	i := slices.IndexFunc(at.Properties, func(p source.Property) bool { return key != "" && p.Name == key })
	if i >= 0 {
		return at.Properties[i].Value
	}
	if others, ok := at.Others.(*source.Schema); ok && key != "" {
		return others
	}
	for _, s := range slices.Concat(at.AnyOf, at.AllOf) {
		if found := below(s, key); found != nil {
			return found
		}
	}
	return nil
}

// rule returns the rule that a node is in, or nil.
func (n *node) rule() *node {
	for ; n != nil && n.parent != nil; n = n.parent {
		if path := n.path(); len(path) == 2 && path[0] == "rules" && n.item {
			return n
		}
	}
	return nil
}

// entry returns the entry of a list of the rule that a node is in, and the key of that
// list, such as children.
func (n *node) entry() (entry *node, list string) {
	for ; n != nil && n.parent != nil; n = n.parent {
		if path := n.path(); len(path) == 4 && path[0] == "rules" && n.item {
			return n, path[2]
		}
	}
	return nil, ""
}

func (n *node) gvk() runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(n.find("apiVersion").text(), n.find("kind").text())
}

// primary returns the kind of the rule that a node is in: the first one of several.
func (n *node) primary() *node {
	selection := n.rule().find("for")
	if kinds := selection.items(); len(kinds) > 0 {
		return kinds[0]
	}
	return selection
}

// fieldType returns the type that a schema of Kubernetes gives the value of a node, and
// whether the node is in something with such a schema.
func fieldType(n *node, set *schema.Set) (check.Type, bool) {
	path := n.path()
	if len(path) < 3 || path[0] != "rules" {
		return check.Type{}, false
	}
	var t check.Type
	known := true
	rest := path[3:]
	entry, list := n.entry()
	switch {
	case path[2] == "patch":
		t, known = check.KindType(set, n.primary().gvk())
	case path[2] == "status":
		if t, known = check.KindType(set, n.primary().gvk()); known {
			t, known = t.Field("status")
		}
	case entry != nil && len(path) > 4 && path[4] == "template" && (list == "children" || list == "finalize"):
		t, known = check.KindType(set, entry.find("template").gvk())
		rest = path[5:]
	case entry != nil && len(path) > 4 && path[4] == "selector" && list == "lookups":
		t, rest = check.SelectorType(set), path[5:]
	case len(path) > 3 && path[2] == "for" && path[3] == "selector":
		t, rest = check.SelectorType(set), path[4:]
	case len(path) > 4 && path[2] == "for" && path[3] == "" && path[4] == "selector":
		t, rest = check.SelectorType(set), path[5:]
	default:
		return t, false
	}
	for _, key := range rest {
		switch {
		case !known:
			return check.Type{}, true
		case key == "":
			t = t.Element()
		default:
			t, known = t.Field(key)
		}
	}
	return t, true
}
