package expr

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// A Recorder has the variables of an evaluation, and records what is read of them.
type Recorder interface {
	interpreter.Activation
	// Silently calls a function, and forgets what it reads.
	Silently(func())
}

// A Member is the index of an element of a list in a path, if it does not matter where in
// the list the element is. An int says that it matters.
type Member int

// mostNarrowing is how many expressions Narrow evaluates at most. It takes less than a tenth
// of a second.
const mostNarrowing = 20_000

// Narrow evaluates again what the part of the result at a path depends on, and no more: of a
// list only what decides about one element, of a search only what it has found. The program
// has been evaluated with these variables. Narrow reports false if it cannot tell: then all
// counts that the program reads.
func (p *Program) Narrow(vars Recorder, path []any, use Use) bool {
	b, err := base()
	if err != nil {
		return false
	}
	scope := &Scope{names: map[string]bool{}, most: mostRange}
	for _, name := range p.reads {
		scope.names[name] = true
	}
	n := &narrower{vars: vars, base: b, info: p.ast.SourceInfo(), plans: map[int64]cel.Program{}}
	n.analyzed = (&Checked{scope: scope, ast: p.ast}).analyze(p.shapes)
	n.analyzed.prepare()
	n.part(p.ast.Expr(), nil, path, use)
	return !n.failed
}

type narrower struct {
	vars     Recorder
	base     *environment
	info     *ast.SourceInfo
	analyzed *analyzer
	plans    map[int64]cel.Program // by the id of the expression
	silent   bool
	steps    int
	failed   bool
}

// A bound is a variable of a comprehension.
type bound struct {
	outer *bound
	name  string
	value ref.Val
	// record records what a part of the value depends on.
	record func(path []any, use Use)
}

func (at *bound) find(name string) *bound {
	for at != nil && at.name != name {
		at = at.outer
	}
	return at
}

// A view is what an expression sees of the variables.
type view struct {
	*narrower
	at *bound
}

// ResolveName implements interpreter.Activation.
func (v view) ResolveName(name string) (any, bool) {
	local := v.at.find(name)
	if local == nil {
		return v.vars.ResolveName(name)
	}
	if !v.silent {
		use := UsedValue
		if inner, ok := Unwrap(local.value); ok && isContainer(inner) {
			use = UsedPresence // It records itself what is read in it.
		}
		local.record(nil, use)
	}
	return local.value, true
}

// Parent implements interpreter.Activation.
func (v view) Parent() interpreter.Activation { return nil }

func isFollowed(v ref.Val) bool {
	switch v.(type) {
	case *followedMap, *followedList:
		return true
	}
	return false
}

// eval evaluates a part of the program, and records what it reads. It fails without a value.
func (n *narrower) eval(e ast.Expr, at *bound) ref.Val {
	if n.steps++; n.failed || n.steps > mostNarrowing {
		n.failed = true
		return types.NullValue
	}
	p := n.plans[e.ID()]
	if p == nil {
		var err error
		p, err = n.base.env.PlanProgram(ast.NewAST(e, n.info), cel.CustomDecoratorV2(decorate(n.analyzed, n.base, nil)), cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			n.failed = true
			return types.NullValue
		}
		n.plans[e.ID()] = p
	}
	v, _, err := p.Eval(view{n, at})
	if err != nil || types.IsUnknownOrError(v) {
		n.failed = true
		return types.NullValue
	}
	return v
}

// value evaluates a part of the program without a record.
func (n *narrower) value(e ast.Expr, at *bound) (v ref.Val) {
	outer := n.silent
	n.silent = true
	n.vars.Silently(func() { v = n.eval(e, at) })
	n.silent = outer
	return v
}

// part records what a part of the value of an expression depends on.
func (n *narrower) part(e ast.Expr, at *bound, path []any, use Use) {
	if n.failed {
		return
	}
	known := false
	switch e.Kind() {
	case ast.LiteralKind:
		return
	case ast.IdentKind:
		if local := at.find(e.AsIdent()); local != nil && !isFollowed(local.value) {
			local.record(path, use)
			return
		}
	case ast.SelectKind:
		if s := e.AsSelect(); !s.IsTestOnly() {
			n.part(s.Operand(), at, below(s.FieldName(), path), use)
			return
		}
	case ast.CallKind:
		known = n.call(e, at, path, use) || n.strict(e, at, path, use)
	case ast.ListKind:
		known = n.list(e.AsList(), e.AsList().IsOptional, at, path, use)
	case ast.MapKind:
		known = n.entry(e.AsMap(), at, path, use)
	case ast.ComprehensionKind:
		known = n.comprehension(e, at, path, use)
	}
	if !known {
		n.read(n.eval(e, at), path, use)
	}
}

func below(step any, path []any) []any { return append([]any{step}, path...) }

// read reads a part of a value.
func (n *narrower) read(v ref.Val, path []any, use Use) {
	part, ok := At(v, path)
	switch {
	case !ok:
	case use == UsedExtent:
		Extent(part)
	case use == UsedValue:
		readWhole(part)
	}
}

// readWhole reads a value with all that is in it.
func readWhole(v ref.Val) {
	v, _ = Unwrap(v)
	switch v := v.(type) {
	case *followedMap:
		v.whole()
	case *followedList:
		v.whole()
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			readWhole(v.Get(it.Next()))
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			readWhole(it.Next())
		}
	}
}
