package check

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

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
	if name, ok := literalString(key); ok && c.FunctionName() == operators.Index {
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
