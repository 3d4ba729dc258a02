package expr

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// These functions are macros: they stand for a longer expression. So what they read, wait
// for and cost is what that expression does, and none of the walks over expressions has to
// know them.

// element is the variable of their loops. Expressions cannot name it.
const element = "@element"

func words() cel.EnvOption {
	return cel.Macros(
		cel.GlobalMacro("when", 2, when),
		cel.GlobalMacro("isTrue", 2, isTrue),
		cel.GlobalMacro("condition", 2, condition),
		cel.GlobalMacro("label", 2, mark("label", "labels")),
		cel.GlobalMacro("annotation", 2, mark("annotation", "annotations")),
		cel.GlobalMacro("selects", 2, selects),
		cel.GlobalMacro(string(Previous), 1, previous),
	)
}

// when expands when(c, x): x as an optional value, which is absent unless c is true. It is
// not a function, because x is not read then: it may wait, or fail.
func when(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	return eh.NewCall(operators.Conditional, args[0], eh.NewCall("optional.of", args[1]), eh.NewCall("optional.none")), nil
}

// isTrue expands isTrue(x, t): whether x has a condition of type t whose status is True.
func isTrue(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if err := checkWord(eh, args, "isTrue() takes an object and the type of a condition"); err != nil {
		return nil, err
	}
	status := eh.NewCall(operators.Equals, textField(eh, "status"), eh.NewLiteral(types.String("True")))
	return parser.MakeExists(eh, conditions(eh, args[0]), []ast.Expr{eh.NewIdent(element),
		eh.NewCall(operators.LogicalAnd, hasType(eh, args[1]), status)})
}

// condition expands condition(x, t): the condition of type t, as an optional value.
func condition(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if err := checkWord(eh, args, "condition() takes an object and the type of a condition"); err != nil {
		return nil, err
	}
	found, err := parser.MakeFilter(eh, conditions(eh, args[0]), []ast.Expr{eh.NewIdent(element), hasType(eh, args[1])})
	if err != nil {
		return nil, err
	}
	return eh.NewMemberCall("first", found), nil
}

// conditions returns x.?status.?conditions.orValue([]).
func conditions(eh parser.ExprHelper, x ast.Expr) ast.Expr {
	return eh.NewMemberCall("orValue", optionalField(eh, optionalField(eh, x, "status"), "conditions"), eh.NewList())
}

func hasType(eh parser.ExprHelper, t ast.Expr) ast.Expr {
	return eh.NewCall(operators.Equals, textField(eh, "type"), t)
}

// textField returns a field of the element, and "" if it is absent.
func textField(eh parser.ExprHelper, name string) ast.Expr {
	return eh.NewMemberCall("orValue", optionalField(eh, eh.NewIdent(element), name), eh.NewLiteral(types.String("")))
}

func optionalField(eh parser.ExprHelper, x ast.Expr, name string) ast.Expr {
	return eh.NewCall(operators.OptSelect, x, eh.NewLiteral(types.String(name)))
}

// mark returns the macro of a function of an object and a key: x.?metadata.?labels[?key].
func mark(function, field string) cel.MacroFactory {
	return func(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		if err := checkWord(eh, args, function+"() takes an object and the key of its "+function); err != nil {
			return nil, err
		}
		return eh.NewCall(operators.OptIndex, optionalField(eh, optionalField(eh, args[0], "metadata"), field), args[1]), nil
	}
}

// checkWord returns an error for arguments that are certainly not an object and a text. The
// errors of what the macro stands for would name fields that the author has not written.
func checkWord(eh parser.ExprHelper, args []ast.Expr, takes string) *common.Error {
	if args[0].Kind() == ast.LiteralKind || args[0].Kind() == ast.ListKind {
		return eh.NewError(args[0].ID(), takes)
	}
	if _, ok := LiteralString(args[1]); args[1].Kind() == ast.LiteralKind && !ok {
		return eh.NewError(args[1].ID(), takes)
	}
	return nil
}

// Previous lists the objects of a child as they are now, whatever the rule renders for it.
// Unlike the other functions of ids, it is a macro: a call becomes a variable of its own,
// so that what calls it does not depend on the child.
const Previous IDFunction = "previous"

// previous expands previous(pods) to the variable of the call. The variable has the position
// of the id.
func previous(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if args[0].Kind() != ast.IdentKind {
		return nil, eh.NewError(args[0].ID(), Previous.Takes())
	}
	args[0].SetKindCase(eh.NewIdent(Previous.Variable(args[0].AsIdent())))
	return args[0], nil
}

// PreviousOf returns the id in the variable of a call of previous().
func PreviousOf(variable string) (id string, ok bool) {
	id, ok = strings.CutPrefix(variable, string(Previous)+"(")
	return strings.TrimSuffix(id, ")"), ok
}
