package expr

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"reconcel/rules/source"
)

const (
	// maxInlinedInAll is the maximum cost of checking the expressions that call functions, of
	// all files together: about a node of an ordinary expression each.
	maxInlinedInAll = 400_000
	// maxValue is the maximum number of values and texts, in units of perValue, that a
	// definition is made of.
	maxValue = 10_000
)

// A Budget is what the definitions of all files may cost together while rules load. It has
// the variables that values read.
type Budget struct {
	source.Suggester
	inlined, work int
	spent         uint64
	frame         *interpreter.ExecutionFrame // of all values, which share the budget of loops
	reader        *Definitions                // those whose values are being computed
}

// grow adds the cost of an expression that calls functions, and reports whether the sum is
// not too high.
func (b *Budget) grow(cost int) bool {
	b.inlined += cost
	return b.inlined <= maxInlinedInAll
}

// frameOf returns the frame in which the values of definitions are computed.
func (b *Budget) frameOf(d *Definitions) (frame *interpreter.ExecutionFrame, err error) {
	if b.reader = d; b.frame == nil {
		b.frame, err = interpreter.NewExecutionFrame(b)
	}
	return b.frame, err
}

// ResolveName returns a value that is defined.
func (b *Budget) ResolveName(name string) (any, bool) {
	def := b.reader.FindVariable(name)
	if def == nil {
		return nil, false
	}
	return def.value, true
}

// Parent returns nil.
func (b *Budget) Parent() interpreter.Activation { return nil }

// Work adds values to the budget.
func (b *Budget) Work(n int) bool {
	b.work += n
	return b.work <= MaxWork
}

// Spend adds to the cost of the loops of values.
func (b *Budget) Spend(cost uint64) uint64 {
	b.spent += cost
	return b.spent
}

// Name returns false: nothing is missing when values are computed.
func (b *Budget) Name() bool { return false }

// Excluded returns false: values read no objects.
func (b *Budget) Excluded(*types.Unknown) bool { return false }

// Add completes a definition that is one expression or data, and adds it. All definitions
// that it uses must have been added. where begins the paths in messages.
func (d *Definitions) Add(def *Definition, src *source.Expr, data *source.Node, where string) []Issue {
	if IsFunction(def.Name) || IsType(def.Name) {
		return []Issue{{Pos: def.Pos, Message: fmt.Sprintf("%s: %q is already a name of the language", where, def.Name)}}
	}
	c := &definer{Definitions: d, def: def, scope: d.scope, info: ast.NewSourceInfo(nil), make: ast.NewExprFactory(),
		body: &body{at: map[int64]inlinedAt{}}}
	if def.IsFunction() {
		typed := d.scope.typed.Nested()
		c.scope = &Scope{typed: typed, names: map[string]bool{}, outer: d.scope}
		for _, p := range def.Params {
			c.scope.names[p.Name] = true
			typed.Declare(p.Name, paramTypes[p.Type])
		}
	}
	if src != nil {
		c.body.expr = c.expression(src, where)
	} else {
		c.body.expr = c.node(data, where)
	}
	if c.issues == nil && (c.follows || slices.ContainsFunc(c.body.uses,
		func(used *Definition) bool { return used.lost })) {
		d.Lose(def)
		return nil
	}
	if c.issues == nil {
		c.conclude(src, data, where)
	}
	if c.issues != nil {
		return c.issues
	}
	if err := d.add(def); err != nil {
		return []Issue{{Pos: def.Pos, Message: fmt.Sprintf("%s: %v", where, err)}}
	}
	return nil
}

// A body is what a function stands for. Its parameters, its variables of loops and the
// values that it reads have names that expressions cannot name, so that none of them means
// something else where the function is called.
type body struct {
	expr    ast.Expr
	at      map[int64]inlinedAt // of all nodes
	size    int
	uses    []*Definition
	sources []*source.Expr
}

// lostBody stands for what a function that has errors returns.
func lostBody() *body {
	factory := ast.NewExprFactory()
	return &body{expr: factory.NewCall(1, "dyn", factory.NewLiteral(2, types.NullValue)), size: 2}
}

// A definer builds the body of one definition.
type definer struct {
	*Definitions
	def    *Definition
	scope  *Scope // of its expressions
	info   *ast.SourceInfo
	make   ast.ExprFactory
	body   *body
	next   int64
	result *types.Type // of a single expression
	inner  int         // nodes of the expressions
	issues []Issue
	// follows: it calls a definition whose parameters could not be read.
	follows bool
}

func (c *definer) complain(pos source.Pos, where, format string, args ...any) *Issue {
	c.issues = append(c.issues, Issue{Pos: pos, Message: where + ": " + fmt.Sprintf(format, args...)})
	return &c.issues[len(c.issues)-1]
}

// expression checks an expression and returns it as a part of the body.
func (c *definer) expression(src *source.Expr, where string) ast.Expr {
	c.body.sources = append(c.body.sources, src)
	checked, issues := c.scope.Check(src, Any)
	for _, i := range issues {
		if c.follows = c.follows || i.Follows; i.Follows {
			continue
		}
		i.Message = where + ": " + i.Message
		if i.Hint == "" {
			i.Hint = c.hint(i)
		}
		c.issues = append(c.issues, i)
	}
	if checked == nil {
		return nil
	}
	for _, call := range checked.Calls() {
		c.complain(call.Pos, where, "%s", call.Function.Takes()).Hint = "a definition reads no children: pass " +
			string(call.Function) + "(...) as an argument"
		return nil
	}
	c.result = coarse(checked.ast.GetType(checked.ast.Expr().ID()))
	fresh, at := Parse(src), map[int64]inlinedAt(nil)
	if own := checked.inlined; own != nil {
		fresh, at = own.AST(), own.at
	}
	for _, used := range checked.Uses() {
		if !slices.Contains(c.body.uses, used) {
			c.body.uses = append(c.body.uses, used)
		}
	}
	c.inner += nodeCount(fresh.Expr())
	c.rename(fresh)
	return c.adopt(fresh.Expr(), func(old int64) inlinedAt {
		if inner, inside := at[old]; inside {
			return inner
		}
		return inlinedAt{c.def, Position(src, fresh, old)}
	})
}

// hint says why a definition cannot read a name.
func (c *definer) hint(i Issue) string {
	switch {
	case i.Undeclared == "":
		return ""
	case i.Undeclared == "self" && c.def.IsFunction():
		return "a definition reads no objects: pass what it needs as an argument"
	case i.Undeclared == "self":
		return "a definition reads no objects: write a function, such as " + c.def.Name + "(name string)"
	}
	return c.budget.Suggest(i.Undeclared, c.scope.Names())
}

// rename gives the parameters, the variables of loops and the values in an expression
// names that no other expression can name.
func (c *definer) rename(a *ast.AST) {
	names := map[string]string{}
	for _, def := range c.all {
		if !def.IsFunction() {
			names[def.Name] = def.Variable()
		}
	}
	for _, p := range c.def.Params {
		names[p.Name] = c.def.variableOf(p.Name)
	}
	r := newRenamer(a)
	r.names = names
	r.loop = func(name string) string {
		if !identifier.MatchString(name) {
			return name // Expressions cannot name it.
		}
		return c.def.loopVariableOf(name)
	}
	r.visit(a.Expr())
}

// adopt gives the nodes of an expression ids of the body.
func (c *definer) adopt(e ast.Expr, at func(old int64) inlinedAt) ast.Expr {
	e.RenumberIDs(func(old int64) int64 {
		return c.id(at(old))
	})
	return e
}

// id returns the id of a new node.
func (c *definer) id(at inlinedAt) int64 {
	c.next++
	c.body.at[c.next] = at
	return c.next
}

// conclude finishes the definition.
func (c *definer) conclude(src *source.Expr, data *source.Node, where string) {
	c.body.size = nodeCount(c.body.expr)
	if c.body.size > maxInlined {
		c.complain(c.def.Pos, where, "is too large: it stands for more than %d values and operations",
			maxInlined).Hint = "split it"
		return
	}
	if depthOf(c.body.expr) > maxInlinedDepth {
		c.complain(c.def.Pos, where, "nests too deeply: more than %d operations within each other",
			maxInlinedDepth).Hint = "split it"
		return
	}
	c.def.body = c.body
	c.def.Digest = c.def.Digest.And(DigestsOf(c.body.uses)...)
	c.def.result = c.result
	if data != nil {
		c.def.result = types.NewListType(types.DynType)
		if data.Kind == source.Map {
			c.def.result = types.NewMapType(types.StringType, types.DynType)
		}
	}
	if !c.def.IsFunction() {
		if src == nil {
			src = &source.Expr{Pos: data.Pos}
		}
		c.evaluate(src, where)
	}
}

// evaluate computes a value.
func (c *definer) evaluate(src *source.Expr, where string) {
	var timed *inlinedAt
	ast.PostOrderVisit(c.body.expr, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && (e.AsCall().FunctionName() == elapsedFunction ||
			e.AsCall().FunctionName() == cronFunction) {
			at := c.body.at[e.ID()]
			timed = &at
		}
	}))
	if timed != nil {
		c.complain(timed.pos, where, "a value is computed when the rules load, and cannot read the clock").Hint = "write a " +
			"function, or a let"
		return
	}
	if !c.budget.grow(c.body.size + checkCost(c.inner, depthOf(c.body.expr))) {
		c.complain(c.def.Pos, where, tooMuchDefined)
		return
	}
	in := &Inlined{ast: ast.NewAST(c.body.expr, c.info), at: c.body.at}
	checked, issues := c.scope.checkLoosely(src, in.AST(), in.AST)
	if len(issues) > 0 {
		c.complain(in.at[issues[0].Node].pos, where, "%s", issues[0].Message)
		return
	}
	whole := &Checked{src: src, scope: c.scope, ast: checked, inlined: in}
	program, failed := whole.Program(nil)
	if failed != nil {
		c.complain(failed.Pos, where, "%s", failed.Message)
		return
	}
	frame, err := c.budget.frameOf(c.Definitions)
	if err != nil {
		c.complain(src.At(1, 0), where, "%v", err)
		return
	}
	v, failed := program.Eval(frame)
	if failed != nil {
		c.complain(failed.Pos, where, "%s", failed.Message)
		return
	}
	size := countValues(v, maxValue+1) + printWork(v, maxValue+1)
	if size > maxValue {
		c.complain(src.At(1, 0), where, "the value is too large").Hint = "make it smaller"
		return
	}
	if !c.budget.Work(copiedEntry * size) {
		c.complain(src.At(1, 0), where, "the values of define have too much to process, and are too large in all files "+
			"together").Hint = "make them smaller"
		return
	}
	var wrong string
	if c.def.value, wrong = settled(v); wrong != "" {
		c.complain(src.At(1, 0), where, "must be text, a number, true or false, null, a time, a duration, a list or a map, "+
			"but is of type %s", wrong)
	}
}

// settled returns a copy of a value that any goroutine can read, or the type of the part
// that has none: some values of CEL change when they are first read.
func settled(v ref.Val) (out ref.Val, wrong string) {
	switch v := v.(type) {
	case types.String, types.Bool, types.Int, types.Uint, types.Double, types.Null, types.Timestamp, types.Duration:
		return v, ""
	case traits.Mapper:
		all := map[ref.Val]ref.Val{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if all[key], wrong = settled(v.Get(key)); wrong != "" {
				return nil, wrong
			}
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, all), ""
	case traits.Lister:
		all := []ref.Val{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, wrong := settled(it.Next())
			if wrong != "" {
				return nil, wrong
			}
			all = append(all, item)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, all), ""
	}
	return nil, TypeOfValue(v)
}
