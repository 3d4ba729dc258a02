package reference

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

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
