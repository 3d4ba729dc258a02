package reference

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// computed stands for a name that has no text in the rules.
const computed = "<computed>"

// maxComputed limits the length of an expression in a name whose lets are written out.
const maxComputed = 80

// A namer says how the objects of one rule are called. What differs between resources is in
// angle brackets: <name>-admin.
type namer struct {
	rule     *syntax.Rule
	children map[string]*syntax.Child
	lookups  map[string]*syntax.Lookup
}

func newNamer(rule *syntax.Rule) *namer {
	n := &namer{rule: rule, children: map[string]*syntax.Child{}, lookups: map[string]*syntax.Lookup{}}
	for _, list := range [][]*syntax.Child{rule.Children, rule.Finalize} {
		for _, c := range list {
			n.children[c.ID.Value] = c
		}
	}
	for _, l := range rule.Lookups {
		n.lookups[l.ID.Value] = l
	}
	return n
}

// child returns the name of the objects of a child.
func (n *namer) child(c *syntax.Child) string {
	if name := c.Template.At("metadata", "name"); name != nil {
		return n.text(name)
	}
	if prefix := c.Template.At("metadata", "generateName"); prefix != nil {
		return n.text(prefix) + "<random>"
	}
	return computed
}

// namespace returns the namespace of a template or lookup, "" for that of the resource.
func (n *namer) namespace(node *source.Node) string {
	if node == nil {
		return ""
	}
	return n.text(node)
}

// text returns what a node gives as a text.
func (n *namer) text(node *source.Node) string { return n.join(node, n.expression) }

// message returns a text for people, in which the name of a let says more than its
// expression.
func (n *namer) message(node *source.Node) string {
	return n.join(node, func(text string) string {
		if source.IsPlain(text) {
			return "<" + text + ">"
		}
		return n.expression(text)
	})
}

// join joins the parts of a node, with a text for each expression.
func (n *namer) join(node *source.Node, textOf func(expression string) string) string {
	switch node.Kind {
	case source.Interp:
		var b strings.Builder
		for _, part := range node.Parts {
			if part.Expr == nil {
				b.WriteString(part.Text)
			} else {
				b.WriteString(textOf(part.Expr.Text))
			}
		}
		return oneLine(b.String())
	case source.Null, source.List, source.Map:
		return computed
	}
	return oneLine(literalText(node.Plain()))
}

// literalText returns a text as it is, and any other value as JSON.
func literalText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return literal(v)
}

func (n *namer) expression(text string) string {
	if root := newExpander(n.rule).expand(text, nil); root != nil {
		if name, ok := n.of(root); ok {
			return name
		}
	}
	return "<" + oneLine(text) + ">"
}

// of returns the text that an expression gives. It returns false for one that is neither a
// field nor put together from fields.
func (n *namer) of(e ast.Expr) (string, bool) {
	if v := literalOf(e); v != nil {
		return literalText(v), true
	}
	if root, path, ok := pathOf(e); ok {
		return n.field(root, path)
	}
	if e.Kind() != ast.CallKind {
		return "", false
	}
	call := e.AsCall()
	switch args := call.Args(); {
	case call.FunctionName() == operators.Add:
		left, ok := n.of(args[0])
		right, okRight := n.of(args[1])
		return left + right, ok && okRight
	case call.FunctionName() == "string" && len(args) == 1:
		return n.of(args[0])
	}
	text, err := unchecked.Print(e)
	return "<" + text + ">", err == nil && len(text) <= maxComputed
}

// field returns the text that a field gives.
func (n *namer) field(root, path string) (string, bool) {
	switch c, l := n.children[root], n.lookups[root]; {
	case root == "self" && (path == "metadata.name" || path == "metadata.namespace"):
		return "<" + strings.TrimPrefix(path, "metadata.") + ">", true
	case root == "self":
		return "<" + path + ">", path != ""
	case c != nil && path == "metadata.name":
		return n.child(c), true
	case c != nil && path == "metadata.namespace":
		return placeOr(n.namespace(c.Template.At("metadata", "namespace"))), true
	case l != nil && l.Name != nil && path == "metadata.name":
		return n.text(l.Name), true
	case l != nil && path == "metadata.namespace":
		return placeOr(n.namespace(l.Namespace)), true
	}
	return "<" + strings.TrimSuffix(root+"."+path, ".") + ">", true
}

// placeOr returns a namespace, or how that of the resource is shown.
func placeOr(namespace string) string {
	if namespace == "" {
		return "<namespace>"
	}
	return namespace
}
