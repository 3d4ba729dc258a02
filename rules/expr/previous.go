package expr

import (
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

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
