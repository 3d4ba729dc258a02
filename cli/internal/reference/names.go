package reference

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/expr"
	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

// mostResolved limits names. Those that are put together from others could double with each.
const mostResolved = 100

// resolve returns the text that a let or the name of an object gives, or false if it has none.
func (w *wording) resolve(id string, compute func() (string, bool)) (string, bool) {
	if _, done := w.resolved[id]; !done {
		w.resolved[id] = ""
		if text, ok := compute(); ok && len(text) <= mostResolved {
			w.resolved[id] = text
		}
	}
	return w.resolved[id], w.resolved[id] != ""
}

// nameOf returns the name of the objects with an id.
func (w *wording) nameOf(id string) string {
	name, _ := w.resolve(id, func() (string, bool) {
		object := w.named[id]
		if object.prefix != nil && object.name == nil {
			return w.text(object.prefix) + "<random>", true
		}
		return w.text(object.name), true
	})
	return cmp.Or(name, "<computed>")
}

// text returns a text of the rules, or data as YAML. A field of the resource is in angle
// brackets, such as <name>-admin. Other expressions are as they are written.
func (w *wording) text(n *source.Node) string {
	if n == nil {
		return ""
	}
	var parts []string
	switch n.Kind {
	case source.Text:
		return n.Literal().Value
	case source.List:
		for _, item := range n.Items {
			parts = append(parts, w.text(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case source.Map:
		for _, f := range n.Fields {
			parts = append(parts, f.Key.Value+": "+w.text(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case source.Interp:
		for _, p := range n.Parts {
			parts = append(parts, w.part(p))
		}
		return strings.Join(parts, "")
	}
	return literal(n.Plain())
}

func (w *wording) part(p source.Part) string {
	if p.Expr == nil {
		return p.Text
	}
	if root, wrong := unchecked.Parse(p.Expr); wrong == "" {
		if known, ok := w.textOf(root); ok {
			return known
		}
	}
	shown := p.Expr
	if isAmbiguous(strings.TrimSpace(shown.Text)) {
		shown = w.behind(shown)
	}
	w.mention(shown)
	return "${" + strings.TrimSpace(shown.Text) + "}"
}

// textOf returns the text that an expression gives, if it is put together from fields.
func (w *wording) textOf(e ast.Expr) (string, bool) {
	if s, ok := expr.LiteralString(e); ok {
		return s, true
	}
	if root, path, ok := pathOf(e); ok {
		return w.fieldText(root, path)
	}
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Add {
		return "", false
	}
	left, ok := w.textOf(e.AsCall().Args()[0])
	right, okRight := w.textOf(e.AsCall().Args()[1])
	return left + right, ok && okRight
}

// isAmbiguous reports whether a variable could be taken for the name or namespace of the resource.
func isAmbiguous(variable string) bool { return variable == "name" || variable == "namespace" }

// fieldText returns the text that a field gives.
func (w *wording) fieldText(root, path string) (string, bool) {
	object, isObject := w.named[root]
	switch {
	case root == "self" && (path == "metadata.name" || path == "metadata.namespace"):
		return "<" + strings.TrimPrefix(path, "metadata.") + ">", true
	case root == "self":
		return "<" + path + ">", path != ""
	case path == "metadata.name" && object.name != nil:
		return w.nameOf(root), true
	case path == "metadata.namespace" && isObject:
		return cmp.Or(w.text(object.namespace), "<namespace>"), true
	case w.lets[root] == nil:
		return "<" + strings.TrimSuffix(root+"."+path, ".") + ">", !isObject && (path != "" || !isAmbiguous(root))
	case path != "":
		return "", false
	}
	return w.resolve(root, func() (string, bool) {
		let, wrong := unchecked.Parse(w.lets[root])
		if wrong != "" {
			return "", false
		}
		return w.textOf(let)
	})
}

// pathOf returns the variable that an expression reads, and the path of the field.
func pathOf(e ast.Expr) (root, path string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), "", true
	case ast.SelectKind:
		root, path, ok = pathOf(e.AsSelect().Operand())
		return root, join(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		if !slices.Contains([]string{operators.OptSelect, operators.Index, operators.OptIndex}, call.FunctionName()) {
			return "", "", false
		}
		key, isText := expr.LiteralString(call.Args()[1])
		root, path, ok = pathOf(call.Args()[0])
		return root, join(path, key), ok && isText
	}
	return "", "", false
}

// A Term is a name in expressions.
type Term struct {
	Name    Code
	Meaning Markdown
}

// mention records that an expression is shown, with the names in it and in the lets and
// functions that it reads.
func (w *wording) mention(e *source.Expr) {
	w.shown = true
	root, wrong := unchecked.Parse(e)
	if wrong != "" {
		return
	}
	unchecked.Visit(root, func(e ast.Expr, locals []unchecked.Local) {
		name := ""
		switch e.Kind() {
		case ast.IdentKind:
			name = e.AsIdent()
		case ast.CallKind:
			name = e.AsCall().FunctionName()
		}
		_, isLocal := unchecked.FindLocal(locals, name)
		_, isObject := w.named[name]
		body := w.lets[name]
		if f := w.functions[name]; f != nil {
			body = f.Expr
		}
		if isLocal || !isObject && body == nil || slices.Contains(w.mentioned, name) {
			return
		}
		if w.mentioned = append(w.mentioned, name); body != nil {
			w.mention(body)
		}
	})
}

// terms says what the mentioned names stand for.
func (w *wording) terms() (all []Term) {
	for _, name := range w.mentioned {
		switch f := w.functions[name]; {
		case f != nil:
			all = append(all, Term{Code(f.Signature()), code(f.Expr.Text)})
		case w.lets[name] != nil:
			all = append(all, Term{Code(name), code(w.lets[name].Text)})
		default:
			all = append(all, Term{Code(name), w.titles[name]})
		}
	}
	return all
}
