package expr

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// EntryOf returns the value of an entry of the map that an expression gives, if the entry
// is written out: in a map, or in the last map of merge() that may have the key.
// Otherwise it returns nil.
func EntryOf(e ast.Expr, key string) ast.Expr {
	switch e.Kind() {
	case ast.MapKind:
		for _, item := range e.AsMap().Entries() {
			if name, ok := LiteralString(item.AsMapEntry().Key()); ok && name == key {
				return item.AsMapEntry().Value()
			}
		}
	case ast.CallKind:
		args := e.AsCall().Args()
		switch e.AsCall().FunctionName() {
		case "dyn":
			return EntryOf(args[0], key)
		case "merge", "deepMerge":
			if found := EntryOf(args[1], key); found != nil || !hasKnownKeys(args[1]) {
				return found
			}
			return EntryOf(args[0], key)
		}
	}
	return nil
}

// hasKnownKeys reports whether an expression is a map whose keys are all literal.
func hasKnownKeys(e ast.Expr) bool {
	if e.Kind() != ast.MapKind {
		return false
	}
	return !slices.ContainsFunc(e.AsMap().Entries(), func(item ast.EntryExpr) bool {
		_, ok := LiteralString(item.AsMapEntry().Key())
		return !ok
	})
}

// Entry returns the value of an entry as an expression of its own, or nil if EntryOf does
// not know it.
func (c *Checked) Entry(key string) *Checked {
	e := EntryOf(c.ast.Expr(), key)
	if e == nil {
		return nil
	}
	out := &Checked{src: c.src, scope: c.scope}
	out.ast = ast.NewCheckedAST(ast.NewAST(e, c.ast.SourceInfo()), c.ast.TypeMap(), c.ast.ReferenceMap())
	out.reads = out.analyze(nil).variables()
	return out
}

// Literal returns the value of an expression that is a literal, or nil.
func (c *Checked) Literal() any {
	e := c.ast.Expr()
	if e.Kind() != ast.LiteralKind {
		return nil
	}
	if s, ok := e.AsLiteral().(types.String); ok {
		return string(s)
	}
	return e.AsLiteral()
}
