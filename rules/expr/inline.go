package expr

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

// maxInlined is the maximum number of nodes of an expression with the functions of define
// written out. One that is written by hand has as many characters, so calls make no
// expression larger than an author can. Functions that call functions double the size
// with each level.
const maxInlined = maxExpression

// maxInlinedDepth is how deep the nodes of such an expression may nest.
const maxInlinedDepth = 64

// An Inlined is an expression with the functions of define that it calls written out.
type Inlined struct {
	// Issue is why they cannot be written out, or nil.
	Issue *Issue

	ast  *ast.AST
	at   map[int64]inlinedAt // the nodes that come from functions
	uses []*Definition       // the functions that it calls itself
}

// An inlinedAt is where a node of a function is written.
type inlinedAt struct {
	of  *Definition
	pos source.Pos
}

// AST returns a copy of the expression that is not yet checked.
func (in *Inlined) AST() *ast.AST {
	return ast.NewAST(ast.NewExprFactory().CopyExpr(in.ast.Expr()), in.ast.SourceInfo())
}

// Explain adds to issues the functions that they are in.
func (in *Inlined) Explain(issues []Issue) []Issue {
	for n := range issues {
		issues[n].Within = in.within(issues[n].Node)
		issues[n].Message = issues[n].Within + issues[n].Message
	}
	return issues
}

// within begins the message about a node of a function. It returns "" for other nodes.
func (in *Inlined) within(node int64) string {
	if in == nil {
		return ""
	}
	at, inside := in.at[node]
	if !inside || !at.of.IsFunction() {
		return ""
	}
	return fmt.Sprintf("%s() at %s: ", at.of.Name, at.pos)
}

// Inline writes out the functions of define that an expression calls, which must be
// checked. It returns nil if there are none.
func (s *TypedScope) Inline(src *source.Expr, checked *ast.AST) *Inlined {
	if s.defined == nil || s.defined.callsIn(checked) == nil {
		return nil
	}
	parsed := Parse(src) // The checker has changed the other one.
	calls := s.defined.callsIn(parsed)
	in := &inliner{
		Inlined: &Inlined{ast: parsed, at: map[int64]inlinedAt{}}, defined: s.defined, make: ast.NewExprFactory(),
		next: ast.MaxID(parsed), size: nodeCount(parsed.Expr()),
	}
	at := Position(src, parsed, calls[0].ID())
	if in.charge(0); in.Issue == nil {
		for i := 0; i < len(calls) && in.Issue == nil; i++ {
			at = Position(src, parsed, calls[i].ID())
			in.inline(calls[i])
		}
	}
	in.conclude()
	if in.Issue != nil {
		in.Issue.Pos = at
	}
	return in.Inlined
}

// Parts returns the nodes directly below a node: of a call its target first.
func Parts(e ast.Expr) (all []ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			all = append(all, e.AsCall().Target())
		}
		return append(all, e.AsCall().Args()...)
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		for _, item := range e.AsMap().Entries() {
			all = append(all, item.AsMapEntry().Key(), item.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, f := range e.AsStruct().Fields() {
			all = append(all, f.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}
	}
	return all
}

// maxTypeDepth is the maximum depth of the type of a definition. Deeper ones are dyn.
const maxTypeDepth = 12

// coarse returns a type, or dyn instead of one that is nested deeply.
func coarse(t *types.Type) *types.Type {
	if isDeep(t, 0) {
		return types.DynType
	}
	return t
}

func isDeep(t *types.Type, above int) bool {
	return above > maxTypeDepth || slices.ContainsFunc(t.Parameters(),
		func(p *types.Type) bool { return isDeep(p, above+1) })
}

// callsIn returns the calls of functions in an expression, those in arguments first.
func (d *Definitions) callsIn(a *ast.AST) (calls []ast.Expr) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && d.function(e.AsCall()) != nil {
			calls = append(calls, e)
		}
	}))
	return calls
}

// function returns the definition that a call is of, or nil.
func (d *Definitions) function(c ast.CallExpr) *Definition {
	if def := d.named[c.FunctionName()]; def != nil && def.IsFunction() && len(def.Params) == len(c.Args()) {
		return def
	}
	return nil
}

// An inliner writes out the functions in one expression.
type inliner struct {
	*Inlined
	defined *Definitions
	make    ast.ExprFactory
	next    int64
	size    int
}

func (in *inliner) inline(call ast.Expr) {
	def, args := in.defined.function(call.AsCall()), call.AsCall().Args()
	if !slices.Contains(in.uses, def) {
		in.uses = append(in.uses, def)
	}
	if !in.grow(def, def.body.size) {
		return
	}
	info := in.ast.SourceInfo()
	offset, _ := info.GetOffsetRange(call.ID())
	root := in.copy(def.body.expr, func(old, id int64) {
		info.SetOffsetRange(id, offset)
		in.at[id] = def.body.at[old]
	})
	var places []ast.Expr
	untyped := map[int64]bool{} // what is in dyn(), by its ID
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.IdentKind:
			places = append(places, e)
		case isDyn(e):
			untyped[e.AsCall().Args()[0].ID()] = true
		}
	}))
	for i, p := range def.Params {
		name, arg, sizeOfArg := def.variableOf(p.Name), args[i], 0
		for _, place := range places {
			if place.Kind() != ast.IdentKind || place.AsIdent() != name {
				continue
			}
			value := arg
			if sizeOfArg > 0 {
				if !in.grow(def, sizeOfArg) {
					return
				}
				value = in.copy(arg, in.sameAs)
			} else {
				sizeOfArg = nodeCount(arg)
			}
			in.put(place, value)
			// Otherwise the text of the function would be checked with the type of the argument.
			if p.Type == "dyn" && !isDyn(value) && !untyped[place.ID()] {
				in.next++
				Wrap(in.ast, place, "dyn", in.next)
				in.sameAs(place.ID(), in.next)
			}
		}
	}
	in.put(call, root)
}

// put puts a node in the place of another one.
func (in *inliner) put(place, e ast.Expr) {
	in.sameAs(e.ID(), place.ID())
	place.SetKindCase(e)
}

// sameAs gives a node the position of another one.
func (in *inliner) sameAs(old, id int64) {
	if offset, ok := in.ast.SourceInfo().GetOffsetRange(old); ok {
		in.ast.SourceInfo().SetOffsetRange(id, offset)
	}
	if at, inside := in.at[old]; inside {
		in.at[id] = at
	} else {
		delete(in.at, id)
	}
}

// copy returns a copy with ids of its own.
func (in *inliner) copy(e ast.Expr, note func(old, id int64)) ast.Expr {
	out := in.make.CopyExpr(e)
	out.RenumberIDs(func(old int64) int64 {
		in.next++
		note(old, in.next)
		return in.next
	})
	return out
}

// grow adds nodes to the expression, and reports whether it may have so many.
func (in *inliner) grow(def *Definition, nodes int) bool {
	if in.size += nodes; in.size > maxInlined {
		in.Issue = &Issue{Message: fmt.Sprintf(
			"%s() makes the expression too large: it stands for more than %d values and operations", def.Name, maxInlined),
			Hint: "name a part of it with let"}
	}
	return in.Issue == nil
}

// conclude charges the budget with the expression.
func (in *inliner) conclude() {
	depth := depthOf(in.ast.Expr())
	if in.Issue == nil && depth > maxInlinedDepth {
		in.Issue = &Issue{Message: fmt.Sprintf(
			"the functions of define nest too deeply here: more than %d operations within each other", maxInlinedDepth),
			Hint: "name a part of it with let"}
	}
	if in.Issue != nil {
		in.defined.budget.grow(in.size) // It is not checked.
		return
	}
	in.charge(checkCost(in.size, depth))
}

// checkCost returns the cost of checking an expression. The checker compares types that
// nest with the expression, and so takes time that grows faster than its size and depth.
func checkCost(size, depth int) int { return size*(1+size/256) + depth*depth*depth/40 }

const tooMuchDefined = "the definitions and the calls of their functions stand for too much text in all files together"

func (in *inliner) charge(cost int) {
	if !in.defined.budget.grow(cost) {
		in.Issue = &Issue{Message: tooMuchDefined, Hint: "name repeated parts with let"}
	}
}

func depthOf(e ast.Expr) int {
	deepest := 0
	for _, part := range Parts(e) {
		deepest = max(deepest, depthOf(part))
	}
	if isFree(e) {
		return deepest
	}
	return deepest + 1
}

// isDyn reports whether a node is dyn(x).
func isDyn(e ast.Expr) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "dyn" && len(e.AsCall().Args()) == 1 &&
		!e.AsCall().IsMemberFunction()
}

// isFree reports whether a node counts toward no limit: each argument of type dyn is in a dyn(), which costs nothing.
// One in another one counts, so that nobody nests them without a limit.
func isFree(e ast.Expr) bool { return isDyn(e) && !isDyn(e.AsCall().Args()[0]) }

func nodeCount(e ast.Expr) (n int) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if !isFree(e) {
			n++
		}
	}))
	return n
}
