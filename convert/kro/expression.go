package kro

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

// A place is where a value is in the definition, and what its expressions can read.
type place struct {
	path      string
	own       string              // the resource whose readyWhen it is, or ""
	iterators map[string][]string // the paths of elements in self, by the names of iterators
	optional  bool                // in a resource that includeWhen may exclude
}

func (p place) below(key string) place {
	p.path += "." + key
	return p
}

// data returns a value with its expressions converted. What has no counterpart is left out:
// the value is nil then.
func (c *converter) data(n *source.Node, at place) *source.Node {
	if n == nil {
		return nil
	}
	out := *n
	switch n.Kind {
	case source.Map:
		out.Fields = nil
		for _, f := range n.Fields {
			if f.Value = c.data(f.Value, at.below(f.Key.Value)); f.Value != nil && f.Value.Kind != source.Null {
				out.Fields = append(out.Fields, f)
			}
		}
	case source.List:
		out.Items = nil
		for i, item := range n.Items {
			inner := at
			inner.path += "[" + strconv.Itoa(i) + "]"
			if item = c.data(item, inner); item != nil {
				out.Items = append(out.Items, item)
			}
		}
	case source.Text:
		if c.escaped(n.Literal().Value, n.Pos, at) {
			return nil
		}
	case source.Interp:
		return c.interpolated(n, at)
	}
	return &out
}

// escaped reports a literal ${, which is written $${ in rules. In kro, that is a dollar sign
// before an expression.
func (c *converter) escaped(text string, pos source.Pos, at place) bool {
	if !strings.Contains(text, "${") {
		return false
	}
	c.report.Lost(pos, at.path, "write ${\"$\"}${...}",
		"$${ is a dollar sign before an expression in kro, and a literal ${ in rules")
	return true
}

func (c *converter) interpolated(n *source.Node, at place) *source.Node {
	out := &source.Node{Kind: source.Interp, Pos: n.Pos}
	for _, p := range n.Parts {
		if p.Expr == nil {
			if c.escaped(p.Text, n.Pos, at) {
				return nil
			}
			out.Parts = append(out.Parts, p)
			continue
		}
		e := c.expression(p.Expr, at)
		if e == nil {
			return nil
		}
		if text, literal := expr.LiteralString(e); literal { // It stands for a literal ${.
			out.Parts = append(out.Parts, source.Part{Text: text})
			continue
		}
		out.Parts = append(out.Parts, source.Part{Expr: &source.Expr{Text: c.print(e, p.Expr.Pos, at), Pos: p.Expr.Pos}})
	}
	return out
}

// only returns the expression of a value that is nothing else, or nil.
func (c *converter) only(n *source.Node, at place) ast.Expr {
	for _, p := range n.Parts {
		if p.Expr != nil && (len(n.Parts) == 1 || n.Padded()) {
			return c.expression(p.Expr, at)
		}
	}
	c.report.Lost(n.Pos, at.path, "write one ${...}", "the value is not an expression")
	return nil
}

// print returns the text of an expression.
func (c *converter) print(e ast.Expr, pos source.Pos, at place) string {
	text, err := unchecked.Print(e)
	if err != nil {
		c.report.Lost(pos, at.path, "write it by hand", "the expression cannot be printed: %v", err)
	}
	return text
}

// expression converts an expression. It returns nil after it has reported what has no
// counterpart.
func (c *converter) expression(src *source.Expr, at place) ast.Expr {
	root, wrong := unchecked.Parse(src)
	if root == nil {
		c.report.Lost(src.Pos, at.path, "correct the expression", "%s", wrong)
		return nil
	}
	lost := false
	unchecked.Visit(root, func(e ast.Expr, locals []unchecked.Local) {
		switch e.Kind() {
		case ast.SelectKind:
			if name := c.unknown(e.AsSelect().Operand(), locals, at); name != "" {
				c.report.Lost(src.Pos, at.path, source.Suggest(name, slices.Sorted(maps.Keys(c.names))), "undeclared name %q", name)
				lost = true
			}
		case ast.IdentKind:
			c.rename(e, locals, at)
		case ast.CallKind:
			if l := rewritten(e); l != nil {
				c.report.Lost(src.Pos, at.path, l.instead, "%s", l.what)
				lost = true
			}
		}
	})
	if lost {
		return nil
	}
	c.needs.read(root, at)
	return root
}

// unknown returns the name that an expression is if nothing declares it, or "".
func (c *converter) unknown(e ast.Expr, locals []unchecked.Local, at place) string {
	if e.Kind() != ast.IdentKind {
		return ""
	}
	name := e.AsIdent()
	_, local := unchecked.FindLocal(locals, name)
	if local || name == "schema" || c.names[name] != "" || at.own != "" && name == "each" {
		return ""
	}
	return name
}

// rename gives a free name the one that it has in rules.
func (c *converter) rename(e ast.Expr, locals []unchecked.Local, at place) {
	name := e.AsIdent()
	if _, local := unchecked.FindLocal(locals, name); local {
		return
	}
	switch {
	case name == "schema":
		name = "self"
	case at.own != "" && (name == "each" || name == at.own):
		name = "child"
	case c.names[name] != "":
		name = c.names[name]
	}
	e.SetKindCase(unchecked.Make.NewIdent(e.ID(), name))
}

// A loss is a function without a counterpart.
type loss struct{ what, instead string }

// rewritten changes a call of a function that reconcel writes in another way.
func rewritten(e ast.Expr) *loss {
	c := e.AsCall()
	args := c.Args()
	switch name := c.FunctionName(); {
	case (name == "merge" || name == "deepMerge") && c.IsMemberFunction() && len(args) == 1:
		e.SetKindCase(unchecked.Make.NewCall(e.ID(), name, c.Target(), args[0]))
	case name == operators.Conditional && isOmit(args[2]):
		e.SetKindCase(unchecked.Make.NewCall(e.ID(), "when", args[0], args[1]))
	case name == operators.Conditional && isOmit(args[1]):
		not := unchecked.Make.NewCall(0, operators.LogicalNot, args[0])
		e.SetKindCase(unchecked.Make.NewCall(e.ID(), "when", not, args[2]))
	case isOmit(e):
		e.SetKindCase(unchecked.Make.NewLiteral(e.ID(), types.NullValue))
	case name == "format" && hexOfHash(c) != nil:
		hash := hexOfHash(c)
		call := hash.AsCall()
		// The namespace is no longer the target, so that the call is not visited as a hash.
		e.SetKindCase(unchecked.Make.NewCall(e.ID(), "hash."+call.FunctionName(), call.Args()...))
	case unchecked.NamespaceOf(c) == "hash":
		return &loss{"kro's hash." + name + "() returns bytes, reconcel's returns the hex text",
			"write hash." + name + "(x) where hex text will do"}
	case unchecked.NamespaceOf(c) == "runtime":
		return &loss{"runtime." + name + "() has no counterpart", "write conditions of the rule"}
	case unchecked.NamespaceOf(c) == "time":
		return &loss{"time." + name + "() has no counterpart", "write elapsed(t, d) or cron(s, t)"}
	}
	return nil
}

func isOmit(e ast.Expr) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "omit" && !e.AsCall().IsMemberFunction()
}

// hexOfHash returns hash.sha256(x) of "%x".format([hash.sha256(x)]), or nil.
func hexOfHash(c ast.CallExpr) ast.Expr {
	if !c.IsMemberFunction() || len(c.Args()) != 1 || c.Args()[0].Kind() != ast.ListKind {
		return nil
	}
	verb, _ := expr.LiteralString(c.Target())
	items := c.Args()[0].AsList().Elements()
	if verb != "%x" || len(items) != 1 || items[0].Kind() != ast.CallKind ||
		unchecked.NamespaceOf(items[0].AsCall()) != "hash" {
		return nil
	}
	return items[0]
}
