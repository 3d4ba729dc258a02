package crossplane

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/expr"
	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

// A value is an expression while a patch is put together.
type value struct {
	text     string
	optional bool // it is absent if the source is
}

// apply returns the value after transforms, which an absent value does not see.
func (v value) apply(transforms *source.Node) (value, error) {
	if transforms == nil || len(transforms.Items) == 0 {
		return v, nil
	}
	if !v.optional {
		text, err := transformed(v.text, transforms)
		return value{text: text}, err
	}
	text, err := transformed("v", transforms)
	return value{v.text + ".optMap(v, " + text + ")", true}, err
}

// combined returns a format of several values. It is absent if one of them is.
func combined(format *source.Node, all []value) (value, error) {
	out := value{}
	var args []string
	var absent []int // those that may be
	for i, v := range all {
		if !v.optional {
			args = append(args, v.text)
			continue
		}
		args = append(args, fmt.Sprintf("v%d", i))
		absent = append(absent, i)
	}
	text, err := formatted(format, args)
	for n, i := range absent {
		function := "optFlatMap"
		if n == len(absent)-1 {
			function = "optMap"
		}
		out.text += fmt.Sprintf("%s.%s(v%d, ", all[i].text, function, i)
		out.optional = true
	}
	out.text += text + strings.Repeat(")", len(absent))
	return out, err
}

// node returns the value as data, with a fallback for an absent one.
func (v value) node(pos source.Pos, old *source.Node, isOptional func(*source.Node) bool) (*source.Node, error) {
	text := v.text
	switch {
	case !v.optional || old == nil || old.Kind == source.Null:
	case isOptional(old):
		text += ".or(" + literal(old) + ")"
	default:
		text += ".orValue(" + literal(old) + ")"
	}
	e, wrong := unchecked.Parse(&source.Expr{Text: text})
	if e == nil {
		return nil, &loss{pos, "the expression " + text + " is invalid: " + wrong, "write it by hand"}
	}
	out := &source.Node{Kind: source.Interp, Pos: pos}
	for _, p := range parts(e) {
		if p.expr == nil {
			out.Parts = append(out.Parts, source.Part{Text: p.text})
			continue
		}
		printed, err := unchecked.Print(p.expr)
		if err != nil {
			return nil, &loss{pos, err.Error(), "write it by hand"}
		}
		out.Parts = append(out.Parts, source.Part{Expr: &source.Expr{Text: printed, Pos: pos}})
	}
	return out, nil
}

// A part is a part of a text: literal or an expression.
type part struct {
	text string
	expr ast.Expr
}

// parts splits "%s-%s".format([a, b]) into a text with expressions, as people write it.
func parts(e ast.Expr) (all []part) {
	whole := []part{{expr: e}}
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "format" || !e.AsCall().IsMemberFunction() ||
		e.AsCall().Args()[0].Kind() != ast.ListKind {
		return whole
	}
	text, _ := expr.LiteralString(e.AsCall().Target())
	args := e.AsCall().Args()[0].AsList().Elements()
	texts := strings.Split(strings.ReplaceAll(text, "%d", "%s"), "%s")
	if len(texts) != len(args)+1 || strings.Contains(strings.Join(texts, ""), "%") || strings.Join(texts, "") == "" {
		return whole
	}
	for i, t := range texts {
		if t != "" {
			all = append(all, part{text: t})
		}
		if i < len(args) {
			all = append(all, part{expr: args[i]})
		}
	}
	return all
}
