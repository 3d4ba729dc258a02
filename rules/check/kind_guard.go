package check

import "github.com/google/cel-go/common/ast"

// isKind reports whether self.kind or self.apiVersion equals a text. Both are known: a rule
// is checked for each of its kinds.
func (g *guard) isKind(args []ast.Expr) (same, known bool) {
	for i, arg := range args {
		text, literal := literalString(args[1-i])
		if own := g.ownKind(arg); own != "" && literal {
			return own == text, true
		}
	}
	return false, false
}

// isOneOf reports whether self.kind or self.apiVersion is in a list of texts.
func (g *guard) isOneOf(e, list ast.Expr) (holds, known bool) {
	own := g.ownKind(e)
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
func (g *guard) ownKind(e ast.Expr) string {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() {
		return ""
	}
	sel := e.AsSelect()
	if sel.Operand().Kind() != ast.IdentKind || sel.Operand().AsIdent() != "self" {
		return ""
	}
	switch sel.FieldName() {
	case "kind":
		return g.rule.src.For.Kind.Value
	case "apiVersion":
		return g.rule.src.For.APIVersion.Value
	}
	return ""
}
