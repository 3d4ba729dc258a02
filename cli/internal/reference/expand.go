package reference

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// maxExpansions limits how often lets and functions are written out in one expression. What
// has more of them has no usual form.
const maxExpansions = 50

// An expander writes out the lets and functions of a rule.
type expander struct {
	lets map[string]*source.Expr
	defs map[string]*syntax.Definition
	left int
}

func newExpander(rule *syntax.Rule) *expander {
	x := &expander{lets: map[string]*source.Expr{}, defs: map[string]*syntax.Definition{}, left: maxExpansions}
	if rule == nil {
		return x
	}
	for _, l := range rule.Let {
		if l.Expr != nil {
			x.lets[l.Name.Value] = l.Expr
		}
	}
	if rule.Definitions != nil {
		for _, d := range rule.Definitions.All {
			if d.Expr != nil {
				x.defs[d.Name.Value] = d
			}
		}
	}
	return x
}

// expand returns the syntax of an expression with its lets and functions written out, or
// nil for one that cannot be parsed. Params stand for values.
func (x *expander) expand(text string, params map[string]ast.Expr) ast.Expr {
	root, wrong := unchecked.Parse(&source.Expr{Text: text})
	if wrong != "" {
		return nil
	}
	// Replacements are not walked: they are expanded already.
	replaced := map[ast.Expr]ast.Expr{}
	unchecked.Visit(root, func(e ast.Expr, locals []unchecked.Local) {
		if with := x.replacement(e, locals, params); with != nil {
			replaced[e] = with
		}
	})
	for e, with := range replaced {
		e.SetKindCase(unchecked.Make.CopyExpr(with))
	}
	return root
}

// replacement returns what a node stands for, or nil if it stands for itself.
func (x *expander) replacement(e ast.Expr, locals []unchecked.Local, params map[string]ast.Expr) ast.Expr {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		if slices.ContainsFunc(locals, func(l unchecked.Local) bool { return l.Name == name }) {
			return nil
		}
		if with, ok := params[name]; ok {
			return with
		}
		if let := x.lets[name]; let != nil {
			return x.nested(let.Text, nil)
		}
		if d := x.defs[name]; d != nil && len(d.Params) == 0 {
			return x.nested(d.Expr.Text, nil)
		}
	case ast.CallKind:
		call := e.AsCall()
		d := x.defs[call.FunctionName()]
		if d == nil || call.IsMemberFunction() || len(d.Params) != len(call.Args()) {
			return nil
		}
		given := map[string]ast.Expr{}
		for i, p := range d.Params {
			given[p.Name] = x.argument(call.Args()[i], params)
		}
		return x.nested(d.Expr.Text, given)
	}
	return nil
}

// argument returns an argument of a function with its own lets and params written out.
func (x *expander) argument(e ast.Expr, params map[string]ast.Expr) ast.Expr {
	text, err := unchecked.Print(e)
	if err != nil {
		return e
	}
	if with := x.expand(text, params); with != nil {
		return with
	}
	return e
}

func (x *expander) nested(text string, params map[string]ast.Expr) ast.Expr {
	if x.left--; x.left < 0 {
		return nil
	}
	return x.expand(text, params)
}

// behind returns the names in an expression, also those in the lets and functions that it
// reads, in the order in which they are met.
func (x *expander) behind(text string) (all []named) {
	seen := map[string]bool{}
	var follow func(text string)
	add := func(n named) {
		if !seen[n.name] {
			seen[n.name] = true
			all = append(all, n)
			follow(n.text)
		}
	}
	follow = func(text string) {
		root, wrong := unchecked.Parse(&source.Expr{Text: text})
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
			let, d := x.lets[name], x.defs[name]
			switch {
			case slices.ContainsFunc(locals, func(l unchecked.Local) bool { return l.Name == name }):
			case let != nil:
				add(named{name, name, oneLine(let.Text)})
			case d != nil:
				add(named{name, d.Signature(), oneLine(d.Expr.Text)})
			case e.Kind() == ast.IdentKind:
				add(named{name: name})
			}
		})
	}
	follow(text)
	return all
}

// A named is a name in an expression. A let or function has an expression of its own, and a
// function has its parameters in its title.
type named struct{ name, title, text string }
