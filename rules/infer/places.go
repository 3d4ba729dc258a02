package infer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"

	"reconcel/rules/crd"
	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A Place is a field of an object, and what a check of the object is as a rule of the field.
type Place struct {
	Path []string // empty: the whole object
	Rule string
}

// Places returns where a check can be in a schema: at the whole object, and at each field outside of which it reads
// nothing.
func Places(check *source.Expr) []Place {
	out := []Place{{Rule: check.Text}}
	reads := readsOf(check)
	if len(reads) == 0 {
		return out
	}
	for depth, name := range reads[0].names {
		if slices.ContainsFunc(reads, func(r read) bool { return len(r.names) <= depth || r.names[depth] != name }) {
			break
		}
		path := reads[0].names[:depth+1]
		out = append(out, Place{path, asSelf(check.Text, path, reads)})
	}
	return out
}

// Is reports whether a rule of the API server is the check at the place, with a guard or without.
func (p Place) Is(rule string) bool { return crd.Unguarded(rule, p.Rule) }

// needsOf returns the fields that an expression reads without asking whether they, or a field that they are in, are
// there, each behind those that it is in.
func needsOf(e ast.Expr) (all [][]string) {
	var tested [][]string
	for _, self := range ast.MatchDescendants(ast.NavigateAST(ast.NewAST(e, nil)),
		func(e ast.NavigableExpr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "self" }) {
		var names []string
		for e, ok := self.Parent(); ok && e.Kind() == ast.SelectKind; e, ok = e.Parent() {
			names = append(names, e.AsSelect().FieldName())
			if e.AsSelect().IsTestOnly() {
				tested = append(tested, names)
				break
			}
			all = append(all, slices.Clone(names))
		}
	}
	var needs [][]string
	for _, names := range all {
		isIn := func(p []string) bool { return len(p) <= len(names) && slices.Equal(p, names[:len(p)]) }
		known := slices.ContainsFunc(needs, func(p []string) bool { return slices.Equal(p, names) })
		if !known && !slices.ContainsFunc(tested, isIn) {
			needs = append(needs, names)
		}
	}
	return needs
}

// A read is a self in a text, and the fields that the text selects of it.
type read struct {
	start int // in characters
	names []string
}

// readsOf returns the reads of an expression, as they follow each other.
func readsOf(e *source.Expr) (all []read) {
	parsed := expr.Parse(e)
	if parsed == nil {
		return nil
	}
	for _, self := range ast.MatchDescendants(ast.NavigateAST(parsed),
		func(e ast.NavigableExpr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "self" }) {
		at, _ := parsed.SourceInfo().GetOffsetRange(self.ID())
		all = append(all, read{int(at.Start), selected(string([]rune(e.Text)[at.Start:]), self)})
	}
	slices.SortFunc(all, func(a, b read) int { return cmp.Compare(a.start, b.start) })
	return all
}

// selected returns the fields that the text from self on selects of it, up to where it is not laid out as usual.
func selected(text string, self ast.NavigableExpr) (names []string) {
	rest, usual := strings.CutPrefix(text, "self")
	for e, ok := self.Parent(); ok && usual && e.Kind() == ast.SelectKind; e, ok = e.Parent() {
		name := e.AsSelect().FieldName()
		rest, usual = strings.CutPrefix(rest, "."+name)
		if !usual || e.AsSelect().IsTestOnly() { // has(self) is not possible.
			break
		}
		names = append(names, name)
	}
	return names
}

// asSelf replaces a field that a text reads by self.
func asSelf(text string, path []string, reads []read) string {
	chars := []rune(text)
	length := utf8.RuneCountInString("self." + strings.Join(path, "."))
	var b strings.Builder
	end := 0
	for _, r := range reads {
		b.WriteString(string(chars[end:r.start]) + "self")
		end = r.start + length
	}
	return b.String() + string(chars[end:])
}
