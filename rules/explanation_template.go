package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// An area is a part of a template, with the operations of the whole template.
type area struct {
	node  *source.Node
	where string // in the template, as operations know it
	ops   []op
	more  []ignoredField
	of    evaluated // what the expressions of the template are evaluated for
	child *Child
}

func (t area) in(node *source.Node, where string) area {
	t.node, t.where = node, where
	return t
}

// op returns the operation that writes what is at a path of the template, or nil: it is a
// constant, or a let that is written out.
func (t area) op(where string) *op {
	if o := findOp(t.ops, where); o != nil {
		return o
	}
	for _, f := range t.more {
		if o := findOp(f.ops, where); o != nil {
			return o
		}
	}
	return nil
}

func findOp(ops []op, where string) *op {
	for i := range ops {
		o := &ops[i]
		if o.where == where && (o.prog != nil || o.text != nil || o.secret != nil) {
			return o
		}
		if inner := findOp(o.ops, where); inner != nil {
			return inner
		}
	}
	return nil
}

// walk explains what a template has at a path. It returns nil if it has nothing there.
func (a *asking) walk(t area, path []any) []Origin {
	n := t.node
	switch {
	case n == nil || n.Kind == source.Null:
		return nil
	case n.Kind == source.Interp:
		return a.interp(t, path)
	case n.Kind == source.Map && len(path) > 0:
		key, _ := path[0].(string)
		return a.walk(t.in(n.At(key), expr.Join(t.where, key)), path[1:])
	case n.Kind == source.Map:
		return a.walkAll(t)
	case n.Kind == source.List && len(path) > 0:
		return a.item(t, path)
	case n.Kind == source.List:
		return a.walkAll(t)
	case len(path) > 0:
		return nil
	}
	return []Origin{a.constant(a.whereOf(t), n.Pos, n.Plain())}
}

// walkAll explains all that a map or list of a template has.
func (a *asking) walkAll(t area) (all []Origin) {
	for _, f := range t.node.Fields {
		all = append(all, a.walk(t.in(f.Value, expr.Join(t.where, f.Key.Value)), nil)...)
	}
	for i, item := range t.node.Items {
		all = append(all, a.walk(t.in(item, t.where+expr.Step(i)), nil)...)
	}
	if len(all) == 0 { // It is empty.
		return []Origin{a.constant(a.whereOf(t), t.node.Pos, t.node.Plain())}
	}
	return all
}

// item explains an element of a list. Earlier elements that are absent have no index in the
// object, so they count, too.
func (a *asking) item(t area, path []any) (all []Origin) {
	index, isIndex := path[0].(int)
	if !isIndex {
		return nil
	}
	var before []Origin
	for i, n := range t.node.Items {
		at := t.in(n, t.where+expr.Step(i))
		value, optional := at.mayVanish(a.of.read)
		switch {
		case optional && !value.HasValue():
		case index == 0:
			return append(a.walk(at, path[1:]), before...)
		default:
			index--
		}
		if optional {
			o := at.op(at.where)
			before = append(before, a.program(RolePosition, a.whereOf(at), o.prog, at.evaluated(o.prog), nil, expr.UsedPresence))
		}
	}
	return nil
}

// mayVanish returns the optional value of an element that is an expression.
func (t area) mayVanish(read *Trace) (value *types.Optional, is bool) {
	if o := t.op(t.where); o != nil && o.prog != nil {
		if e := read.ran[t.evaluated(o.prog)]; e != nil {
			value, is = e.value.(*types.Optional)
		}
	}
	return value, is
}

func (t area) evaluated(p *expr.Program) evaluated {
	return evaluated{p, t.of.child, t.of.index}
}

// whereOf returns the path of a field in the rule.
func (a *asking) whereOf(t area) string {
	if t.child != nil {
		return "template." + t.where
	}
	return t.where
}

// interp explains text with expressions.
func (a *asking) interp(t area, path []any) []Origin {
	o := t.op(t.where)
	switch {
	case o != nil && o.prog != nil:
		return []Origin{a.program(RoleValue, a.whereOf(t), o.prog, t.evaluated(o.prog), path, expr.UsedValue)}
	case o != nil && o.text != nil && len(path) == 0:
		one := a.text(RoleValue, o.text, t.of)
		one.Field = a.whereOf(t)
		return []Origin{one}
	case o != nil || len(t.node.Parts) != 1:
		return nil
	}
	// The data of a let is written out here.
	name := strings.TrimSpace(t.node.Parts[0].Expr.Text)
	v, known := a.res.Rule.vars[name]
	if !known || v.kind != letVariable {
		return nil
	}
	data := a.walk(t.in(a.res.Rule.lets[v.index].src.Data, t.where), path)
	if data == nil {
		return nil
	}
	from := Reading{Path: expr.Path(name, path), Use: expr.UsedValue, Withheld: withheld(data)}
	for i := range data {
		data[i].Role, data[i].Field = RoleLet, "let."+expr.Path(name, path)
	}
	if len(data) == 1 {
		from.Value = data[0].Value
	}
	from.From = data
	one := Origin{Role: RoleValue, Rule: a.res.Rule.Name, Field: a.whereOf(t), Pos: t.node.Parts[0].Expr.Pos, Text: name,
		Value: from.Value, Withheld: from.Withheld, Reads: []Reading{from}}
	return []Origin{one}
}

// constant explains a constant.
func (a *asking) constant(where string, pos source.Pos, value any) Origin {
	o := Origin{Role: RoleValue, Rule: a.res.Rule.Name, Field: where, Pos: pos, Value: value}
	a.withhold(&o)
	return o
}

// withhold removes the value of an origin that shows data of a Secret.
func (a *asking) withhold(o *Origin) {
	o.Withheld = o.Withheld || a.secret || slices.ContainsFunc(o.Reads, func(r Reading) bool { return r.Withheld })
	if o.Withheld {
		o.Value = nil
	}
}

// program explains an expression that was evaluated.
func (a *asking) program(role Role, where string, p *expr.Program, of evaluated, path []any, use expr.Use) Origin {
	of.prog = p
	return a.evaluation(role, where, p, a.of.read.ran[of], path, use)
}

func (a *asking) evaluation(role Role, where string, p *expr.Program, e *evaluation, path []any, use expr.Use) Origin {
	o := Origin{Role: role, Rule: a.res.Rule.Name, Field: where, Pos: p.Pos(), Text: p.Text()}
	if e == nil {
		o.Error = "not evaluated"
		return o
	}
	if e.err != nil {
		o.Error = e.err.Message
	}
	value, reads := a.of.read.part(e, path, use)
	o.Value, o.Reads = value, a.readings(reads)
	a.withhold(&o)
	return o
}

// text explains text with expressions.
func (a *asking) text(role Role, t *text, of evaluated) Origin {
	o := Origin{Role: role, Rule: a.res.Rule.Name, Field: t.where, Pos: t.pos, Text: t.String()}
	if len(t.programs()) == 0 {
		o.Text, o.Value = "", t.String()
		a.withhold(&o)
		return o
	}
	var value strings.Builder
	var reads []read
	var shown []string
	for _, p := range t.parts {
		if p.prog == nil {
			value.WriteString(p.literal)
			continue
		}
		shown = append(shown, "${"+p.prog.Text()+"}")
		e := a.of.read.ran[evaluated{p.prog, of.child, of.index}]
		if e == nil || e.err != nil || e.value == nil {
			o.Error = "not evaluated"
			continue
		}
		_, more := a.of.read.part(e, nil, expr.UsedValue)
		reads = append(reads, more...)
		if printed, why := expr.PrintedText(e.value); why == "" {
			value.WriteString(printed)
		}
	}
	switch {
	case len(t.parts) == 1:
		o.Text = t.parts[0].prog.Text()
	case a.secret:
		o.Text = strings.Join(shown, " ") // The other text is part of the data.
	}
	o.Value, o.Reads = value.String(), a.readings(reads)
	a.withhold(&o)
	return o
}
