// Package unchecked has expressions as they are written: macros are calls, and nothing has a type. It is
// for programs that read or write expressions of others, and for documentation.
package unchecked

import (
	"math"
	"slices"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// syntaxOnly parses without macros.
var syntaxOnly = sync.OnceValues(func() (*parser.Parser, error) {
	return parser.NewParser(parser.EnableOptionalSyntax(true), parser.EnableIdentEscapeSyntax(true))
})

// Parse returns the syntax of an expression, or what is wrong with it.
func Parse(src *source.Expr) (ast.Expr, string) {
	p, err := syntaxOnly()
	if err != nil {
		return nil, err.Error()
	}
	parsed, issues := p.Parse(common.NewTextSource(src.Text))
	if all := issues.GetErrors(); len(all) > 0 {
		return nil, all[0].Message
	}
	return parsed.Expr(), ""
}

// Print prints an expression on one line.
func Print(e ast.Expr) (string, error) {
	return parser.Unparse(e, ast.NewSourceInfo(common.NewTextSource("")), parser.WrapOnColumn(math.MaxInt))
}

// All returns an expression that is true if all of these are, or nil without any.
func All(conditions []ast.Expr) (all ast.Expr) {
	for _, c := range conditions {
		if all == nil {
			all = c
		} else {
			all = Make.NewCall(0, operators.LogicalAnd, all, c)
		}
	}
	return all
}

// Make makes the nodes of expressions.
var Make = ast.NewExprFactory()

// A Visitor sees every node of an expression before those in it. locals are the variables
// that macros around the node declare.
type Visitor func(e ast.Expr, locals []Local)

// A Local is a variable of a macro, such as w in self.spec.workers.map(w, w.name).
type Local struct {
	Name string
	Of   ast.Expr // what the macro is called on; nil: the variable is not its element
}

// Visit walks an expression. The visitor may change the node that it sees.
func Visit(e ast.Expr, visit Visitor) { walk(e, nil, visit) }

func walk(e ast.Expr, locals []Local, visit Visitor) {
	visit(e, locals)
	if e.Kind() != ast.CallKind {
		for _, part := range expr.Parts(e) {
			walk(part, locals, visit)
		}
		return
	}
	c := e.AsCall()
	if c.IsMemberFunction() {
		walk(c.Target(), locals, visit)
	}
	own := declared(c)
	for i, arg := range c.Args() {
		if i >= own.from {
			walk(arg, slices.Concat(locals, own.locals), visit)
		} else if i >= len(own.locals) {
			walk(arg, locals, visit)
		}
	}
}

// A declaration is what a macro declares: its first arguments are names, and those from
// one on see them.
type declaration struct {
	locals []Local
	from   int
}

// declared returns what a call declares.
func declared(c ast.CallExpr) (d declaration) {
	if !c.IsMemberFunction() {
		return d
	}
	count := 0
	switch args := len(c.Args()); c.FunctionName() {
	case "all", "exists", "exists_one", "existsOne":
		count = args - 1
	case "map", "filter", "sortBy", "optMap", "optFlatMap":
		count = 1
	case "transformList", "transformMap", "transformMapEntry":
		count = 2
	case "bind":
		return declaration{locals: named(c.Args()[:1], nil), from: 2}
	}
	if count < 1 || count >= len(c.Args()) {
		return d
	}
	of := c.Target()
	if count > 1 || c.FunctionName() == "optMap" || c.FunctionName() == "optFlatMap" {
		of = nil
	}
	return declaration{locals: named(c.Args()[:count], of), from: count}
}

func named(args []ast.Expr, of ast.Expr) (locals []Local) {
	for _, arg := range args {
		name := ""
		if arg.Kind() == ast.IdentKind {
			name = arg.AsIdent()
		}
		locals = append(locals, Local{name, of})
	}
	return locals
}

// FindLocal returns the innermost variable with a name, and whether there is one.
func FindLocal(locals []Local, name string) (Local, bool) {
	for _, l := range slices.Backward(locals) {
		if l.Name == name {
			return l, true
		}
	}
	return Local{}, false
}

// NamespaceOf returns the namespace of a call such as hash.sha256(x), or "".
func NamespaceOf(c ast.CallExpr) string {
	if c.IsMemberFunction() && c.Target().Kind() == ast.IdentKind {
		return c.Target().AsIdent()
	}
	return ""
}
