package expr

import (
	"maps"
	"slices"

	"reconcel/rules/source"
)

// Mentions returns the names that an expression uses and does not declare itself: of
// variables and functions, sorted. An expression that cannot be parsed has none.
func Mentions(src *source.Expr) []string {
	parsed := Parse(src)
	if parsed == nil {
		return nil
	}
	found := map[string]bool{}
	r := newRenamer(parsed)
	r.free = func(name string) { found[name] = true }
	r.visit(parsed.Expr())
	return slices.Sorted(maps.Keys(found))
}
