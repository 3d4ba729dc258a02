package check

import (
	"github.com/google/cel-go/common/ast"

	"reconcel/rules/syntax"
)

// isKind reports whether self.kind or self.apiVersion equals a text. Both are known: a rule
// is checked for each of its kinds.
func isKind(of *syntax.For, args []ast.Expr) (same, known bool) {
	for i, arg := range args {
		text, literal := literalString(args[1-i])
		if own := ownKind(of, arg); own != "" && literal {
			return own == text, true
		}
	}
	return false, false
}

// isOneOf reports whether self.kind or self.apiVersion is in a list of texts.
func isOneOf(of *syntax.For, e, list ast.Expr) (holds, known bool) {
	own := ownKind(of, e)
	if own == "" || list.Kind() != ast.ListKind {
		return false, false
	}
	for _, item := range list.AsList().Elements() {
		text, literal := literalString(item)
		if !literal {
			return false, false
		}
		holds = holds || own == text
	}
	return holds, true
}

// ownKind returns the value of self.kind or self.apiVersion, or "" for another expression.
func ownKind(of *syntax.For, e ast.Expr) string {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() {
		return ""
	}
	sel := e.AsSelect()
	if sel.Operand().Kind() != ast.IdentKind || sel.Operand().AsIdent() != "self" {
		return ""
	}
	switch sel.FieldName() {
	case "kind":
		return of.Kind.Value
	case "apiVersion":
		return of.APIVersion.Value
	}
	return ""
}
