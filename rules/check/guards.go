package check

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Guarding is what the guards of a rule share.
type guarding struct {
	*subject
	reporter    *reporter
	expressions *expressions
	follower    *follower
	omissions   *omissions
	absences    *absences
	work        work
}

// A guard evaluates expressions to find fields that may be absent.
type guard struct {
	*guarding
	t        *typed
	vars     []named
	reader   *syntax.Child // the child whose existence depends on the expressions, or nil
	quiet    bool          // it gives no warnings
	ofStatus bool          // a field of status that only copies is left out with what it copies
	where    string
}

// A named value is a variable of a loop or an iterator.
type named struct {
	name  string
	value *value
}

// work bounds the cost of lets that use lets, and numbers loops.
type work struct{ steps, loops int }

const maxSteps = 50_000

func (g *guard) warnf(pos source.Pos, format string, args ...any) {
	g.warn(g.reporter.complaint(pos, format, args...))
}

func (g *guard) warn(e *source.Error) {
	e.Check = lint.AbsentField
	if !g.quiet {
		g.absences.keep(e)
	}
}

// eval evaluates an expression under these facts.
func (g *guard) eval(e ast.Expr, f facts) outcome {
	if g.work.steps++; g.work.steps > maxSteps {
		return outcome{}
	}
	return g.decides(e, g.evalNode(e, f))
}

func (g *guard) evalNode(e ast.Expr, f facts) outcome {
	switch e.Kind() {
	case ast.IdentKind:
		return g.ident(e.AsIdent(), f)
	case ast.SelectKind:
		return g.selectField(e, f)
	case ast.CallKind:
		return g.call(e, f)
	case ast.ListKind:
		return g.list(e.AsList(), f)
	case ast.MapKind:
		for _, item := range e.AsMap().Entries() {
			g.eval(item.AsMapEntry().Key(), f)
			g.read(item.AsMapEntry().Value(), f)
		}
	case ast.ComprehensionKind:
		return g.comprehension(e.AsComprehension(), f)
	}
	return outcome{}
}

func (g *guard) ident(name string, f facts) outcome {
	for i := len(g.vars) - 1; i >= 0; i-- {
		if g.vars[i].name == name {
			return outcome{value: g.vars[i].value}
		}
	}
	if name == "self" {
		return outcome{value: &value{key: name, shown: name, severalKinds: len(g.src.Others) > 0}}
	}
	if e := g.entryOf[g.t.src]; e != nil && e.others[name] != nil && name != e.key {
		return g.entry(e.others[name], f)
	}
	if l := g.lets[name]; l != nil {
		return g.let(l, f)
	}
	if g.reader != nil && !g.quiet {
		g.listLookup(name, f)
	}
	return outcome{value: madeFor(g.src, g.set, name)}
}

// entry evaluates an entry of a let where another one reads it.
func (g *guard) entry(e *entry, f facts) outcome {
	if e.walked || len(e.node.Parts) != 1 { // Cycles do not load. This is a second line of defence.
		return outcome{}
	}
	e.walked = true
	defer func() { e.walked = false }()
	inner := &guard{guarding: g.guarding, reader: g.reader, quiet: g.quiet, where: e.at.where}
	return inner.expression(e.node.Parts[0].Expr, f)
}

// let evaluates a let where it is used: the facts there guard it.
func (g *guard) let(l *let, f facts) outcome {
	if l.walked { // Lets cannot form a cycle. This is a second line of defence.
		return outcome{}
	}
	l.walked = true
	outer := g.prefix
	g.prefix = "" // The let is wrong, not one of those that use it.
	defer func() { l.walked, g.prefix = false, outer }()
	inner := &guard{guarding: g.guarding, reader: g.reader, quiet: g.quiet, where: "let." + l.src.Name.Value}
	if l.src.Data != nil {
		inner.node(l.src.Data, f)
		return outcome{}
	}
	return inner.expression(l.src.Expr, f)
}

func (g *guard) selectField(e ast.Expr, f facts) outcome {
	sel := e.AsSelect()
	name := sel.FieldName()
	if sel.IsTestOnly() {
		operand := g.lenient(sel.Operand()).eval(sel.Operand(), f)
		if operand.flaws().covers(sel.Operand()) {
			operand.flaw.test(e, optionalStep(name))
		}
		return outcome{yes: facts(nil).with(operand.below(name)), ran: operand.ran}
	}
	operand := g.read(sel.Operand(), f)
	if l := g.follower.letOf(g.t, sel.Operand()); l != nil && l.entries[name] != nil {
		hushed := *g
		hushed.quiet = true
		entry := hushed.entry(l.entries[name], f)
		return outcome{yes: entry.yes, no: entry.no, ran: operand.ran}
	}
	return g.plainField(e, operand, name, f)
}

// plainField handles a.b and a["b"], and warns if b may be absent.
func (g *guard) plainField(e ast.Expr, operand outcome, name string, f facts) outcome {
	field := operand.below(name)
	t := g.t.typeOf(expr.Operand(e))
	if _, optional := unwrapped(t); optional {
		return outcome{value: field, ran: operand.ran} // It is an optional, too.
	}
	if field != nil && field.made != nil {
		field.made = operand.made.field(g.follower, name)
	}
	if field != nil && operand.flaws().covers(expr.Operand(e)) {
		field.flaw.extend(e, optionalStep(name))
	} else if field != nil {
		g.absent(e, t, operand.value, name, field, f)
	}
	return outcome{value: field, ran: operand.ran.with(field)}
}

func (g *guard) list(l ast.ListExpr, f facts) outcome {
	known := l.Size() > 0
	for _, item := range l.Elements() {
		v := g.read(item, f).value
		known = v != nil && v.made == nil && known
	}
	if !known {
		return outcome{}
	}
	return outcome{value: &value{elem: &value{}}}
}

func (g *guard) call(e ast.Expr, f facts) outcome {
	c := e.AsCall()
	args := c.Args()
	switch c.FunctionName() {
	case operators.LogicalAnd:
		return g.both(args[0], args[1], f, outcome.asIs)
	case operators.LogicalOr: // a || b is !(!a && !b).
		return g.both(args[0], args[1], f, outcome.negated).negated()
	case operators.LogicalNot:
		return g.eval(args[0], f).negated()
	case operators.NotStrictlyFalse:
		return g.eval(args[0], f).asIs()
	case operators.Conditional:
		return g.choice(args, f)
	case operators.OptSelect, operators.Index, operators.OptIndex:
		return g.index(e, f)
	case operators.In:
		return g.membership(args, f)
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater,
		operators.GreaterEquals:
		return g.comparison(c, f)
	}
	return g.function(c, f)
}

// both handles left && right, each seen through a function. CEL evaluates a side
// only if the other one does not decide, in any order.
func (g *guard) both(left, right ast.Expr, f facts, seen func(outcome) outcome) outcome {
	hushed := *g
	hushed.quiet = true
	l := seen(g.eval(left, f.and(seen(hushed.eval(right, f)).yes)))
	r := seen(g.eval(right, f.and(l.yes).and(l.ran)))
	return outcome{
		yes: l.truly().and(r.truly()), // Both have run.
		no:  l.falsely().or(r.falsely()),
		ran: l.ran.or(r.ran),
	}
}

func (g *guard) choice(args []ast.Expr, f facts) outcome {
	c := g.eval(args[0], f)
	a := g.read(args[1], f.and(c.truly()))
	b := g.read(args[2], f.and(c.falsely()))
	out := outcome{
		yes: c.yes.and(a.yes).or(c.no.and(b.yes)),
		no:  c.yes.and(a.no).or(c.no.and(b.no)),
		ran: c.ran.and(a.ran.or(b.ran)),
	}
	// If one branch is false or has no value, a true result comes from the other.
	if isBool(args[2], types.False) || isCall(args[2], "optional.none") {
		out.yes = c.yes.and(a.yes)
	}
	if isBool(args[1], types.False) || isCall(args[1], "optional.none") {
		out.yes = c.no.and(b.yes)
	}
	if a.value != nil && b.value != nil && a.key == b.key {
		out.value = a.value
	}
	return out
}

// isLiteralList reports whether an expression is a list of literals.
func isLiteralList(e ast.Expr) bool {
	return e.Kind() == ast.ListKind && !slices.ContainsFunc(e.AsList().Elements(),
		func(item ast.Expr) bool { return item.Kind() != ast.LiteralKind })
}

func isBool(e ast.Expr, v types.Bool) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == v
}

// bind returns an element as the value of a variable, and the facts about it.
func (w *work) bind(list *value, name string, f facts) (*value, facts) {
	v := list.element()
	if v == nil {
		return nil, nil
	}
	w.loops++
	v.key = fmt.Sprintf("#%d", w.loops)
	v.shown = name
	known := facts{}
	for _, rest := range append(f.below(list.key+step+anyElement), list.each...) {
		known[v.key+step+rest] = true
	}
	return v, known
}

// membership handles "key" in map.
func (g *guard) membership(args []ast.Expr, f facts) outcome {
	key := g.eval(args[0], f)
	m := g.read(args[1], f)
	out := outcome{ran: key.ran.and(m.ran)}
	if holds, known := isOneOf(&g.src.For, args[0], args[1]); known {
		out.yes, out.no = decided(holds)
	} else if absent, present := g.absentValue(args[0], f); present != nil && isLiteralList(args[1]) {
		among := func(item ast.Expr) bool { return absent.Equal(item.AsLiteral()) == types.True }
		out.yes, out.no = unless(slices.ContainsFunc(args[1].AsList().Elements(), among), present)
	}
	name, ok := expr.LiteralString(args[0])
	if t, _ := unwrapped(g.t.typeOf(args[1])); ok && t.Kind() != types.ListKind {
		out.yes = facts(nil).with(m.below(name))
	}
	return out
}

// index handles a[b], a[?b] and a.?b.
func (g *guard) index(e ast.Expr, f facts) outcome {
	c := e.AsCall()
	from, key := c.Args()[0], c.Args()[1]
	var operand outcome
	if c.FunctionName() == operators.Index {
		operand = g.read(from, f)
	} else {
		operand = g.lenient(from).eval(from, f)
	}
	ran := operand.ran.and(g.eval(key, f).ran)
	if operand.value == nil {
		return outcome{ran: ran}
	}
	if name, ok := expr.LiteralString(key); ok && c.FunctionName() == operators.Index {
		return g.plainField(e, operand, name, f)
	} else if ok {
		return outcome{value: operand.below(name), ran: ran}
	}
	if t, _ := unwrapped(g.t.typeOf(from)); t.Kind() != types.ListKind {
		return outcome{ran: ran}
	}
	out := operand.element()
	if out == nil {
		return outcome{ran: ran}
	}
	out.shown = operand.shown + "[...]"
	out.flaw = operand.flaw
	out.key = ""
	if key.Kind() == ast.LiteralKind || key.Kind() == ast.IdentKind {
		out.shown = operand.shown + fmt.Sprintf("[%s]", indexText(key))
		if operand.key != "" {
			out.key = operand.key + step + "[" + indexText(key) + "]"
		}
		if operand.flaws().covers(from) {
			operand.flaw.extend(e, "[?"+indexText(key)+"]")
		}
	}
	return outcome{value: out, ran: ran}
}

func indexText(e ast.Expr) string {
	if e.Kind() == ast.IdentKind {
		return e.AsIdent()
	}
	return fmt.Sprint(e.AsLiteral().Value())
}
