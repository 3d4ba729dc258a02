package kro

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/convert/foreign"
	"reconcel/rules/expr"
	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

// needs are the fields of the primary that expressions read with a plain dot, and that may
// be absent.
type needs struct {
	foreign.Needs            // read whatever the instance is
	child         [][]string // read by the optional resource at hand
}

// read records the fields that an expression reads.
func (n *needs) read(root ast.Expr, at place) {
	tested := map[string]bool{}
	test := map[ast.Expr]bool{}
	unchecked.Visit(root, func(e ast.Expr, locals []unchecked.Local) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "has" || len(e.AsCall().Args()) != 1 {
			return
		}
		of := e.AsCall().Args()[0]
		test[of] = true
		if path, known := pathOf(of, locals, at.iterators); known {
			tested[strings.Join(path, ".")] = true
		}
	})
	unchecked.Visit(root, func(e ast.Expr, locals []unchecked.Local) {
		path, known := pathOf(e, locals, at.iterators)
		if !known || test[e] || tested[strings.Join(path, ".")] || !n.MayLack(path) {
			return
		}
		if at.optional {
			n.child = foreign.WithPath(n.child, path)
		} else {
			n.Add(path)
		}
	})
}

// pathOf returns the path of what an expression reads in self, and whether it reads it.
func pathOf(e ast.Expr, locals []unchecked.Local, iterators map[string][]string) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		if l, local := unchecked.FindLocal(locals, e.AsIdent()); local {
			if l.Of == nil {
				return nil, false
			}
			path, known := pathOf(l.Of, nil, iterators)
			return append(slices.Clone(path), foreign.Element), known
		}
		path, known := iterators[e.AsIdent()]
		return path, known || e.AsIdent() == "self"
	case ast.SelectKind:
		path, known := pathOf(e.AsSelect().Operand(), locals, iterators)
		return append(slices.Clone(path), e.AsSelect().FieldName()), known
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.Index:
			path, known := pathOf(c.Args()[0], locals, iterators)
			key, literal := expr.LiteralString(c.Args()[1])
			return append(slices.Clone(path), key), known && literal
		case "filter", "sortBy":
			return pathOf(c.Target(), locals, iterators)
		}
	}
	return nil, false
}

// ofChild returns what the optional resource reads, and forgets it.
func (n *needs) ofChild() [][]string {
	paths := n.child
	n.child = nil
	return paths
}

// guards returns conditions for paths that neither the checks of the rule nor these
// conditions test.
func (n *needs) guards(conditions []ast.Expr, paths [][]string) (all []ast.Expr) {
	var done []string
	for _, c := range conditions {
		text, _ := unchecked.Print(c)
		done = append(done, text)
	}
	done = append(done, n.Covered()...)
	for _, path := range paths {
		for _, test := range n.Tests(path) {
			if slices.Contains(done, test) {
				continue
			}
			done = append(done, test)
			if e, _ := unchecked.Parse(&source.Expr{Text: test}); e != nil {
				all = append(all, e)
			}
		}
	}
	return all
}
