package infer

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A value is what an expression gives.
type value struct {
	slot *slot
	// at is the field that it is, or nil, and optional whether it may be absent.
	at       *field
	optional bool
	read     source.Pos // where it is read
	literal  any        // or nil
	null     bool       // it is the literal null
}

// Reading is what the readers of all expressions share.
type reading struct {
	slots     *slots
	questions *questions
	overloads *overloads
	parsed    map[*source.Expr]*ast.AST
	functions map[string]*definition // of the rule
	objects   map[string]*slot       // of the children of the rule, by id
	depth     int                    // of calls of functions
}

// A reader reads one expression, or data with expressions.
type reader struct {
	*reading
	src *source.Expr
	ast *ast.AST
}

// expression infers an expression.
func (r *reader) expression(src *source.Expr, sc *scope) value {
	if src == nil {
		return value{slot: &slot{}}
	}
	parsed, known := r.parsed[src]
	if !known {
		parsed = expr.Parse(src)
		r.parsed[src] = parsed
	}
	if parsed == nil {
		return value{slot: &slot{}}
	}
	return (&reader{r.reading, src, parsed}).eval(parsed.Expr(), sc)
}

// want infers an expression of one kind.
func (r *reader) want(src *source.Expr, sc *scope, is kind) {
	if src != nil {
		r.slots.unify(r.expression(src, sc).slot, &slot{is: is})
	}
}

func (r *reader) pos(e ast.Expr) source.Pos { return expr.Position(r.src, r.ast, e.ID()) }

func (r *reader) eval(e ast.Expr, sc *scope) value {
	switch e.Kind() {
	case ast.LiteralKind:
		return literal(e)
	case ast.IdentKind:
		return r.ident(e.AsIdent(), sc)
	case ast.SelectKind:
		s := e.AsSelect()
		return r.field(e, r.eval(s.Operand(), sc), s.FieldName(), s.IsTestOnly())
	case ast.CallKind:
		return r.call(e, e.AsCall(), sc)
	case ast.ListKind:
		return r.list(e.AsList(), sc)
	case ast.MapKind:
		return r.mapLiteral(e.AsMap(), sc)
	case ast.ComprehensionKind:
		return r.comprehension(e.AsComprehension(), sc)
	}
	return value{slot: &slot{}}
}

func literal(e ast.Expr) value {
	switch v := e.AsLiteral().(type) {
	case types.Bool:
		return value{slot: &slot{is: boolean}, literal: bool(v)}
	case types.Int:
		return value{slot: &slot{is: integer}, literal: int64(v)}
	case types.Double:
		return value{slot: &slot{is: number}, literal: float64(v)}
	case types.String:
		return value{slot: &slot{is: text}, literal: string(v)}
	case types.Null:
		return value{slot: &slot{}, null: true}
	}
	return value{slot: &slot{}}
}

func (r *reader) ident(name string, sc *scope) value {
	if id, ok := expr.PreviousOf(name); ok {
		return value{slot: newList(r.objects[id])}
	}
	return sc.lookup(name)
}

// field infers the selection of a field, or with tested the question whether it is there.
func (r *reader) field(e ast.Expr, of value, name string, tested bool) value {
	f := r.slots.fieldOf(of.slot, name)
	switch {
	case tested || of.optional:
		f.ask(r.pos(e))
	default:
		f.read(r.pos(e))
	}
	if tested {
		return value{slot: &slot{is: boolean}}
	}
	return value{slot: f.slot, at: f, optional: of.optional, read: r.pos(e)}
}

// optionalField infers x.?name and x[?"name"].
func (r *reader) optionalField(e ast.Expr, of value, name string) value {
	of.optional = true
	return r.field(e, of, name, false)
}

func (r *reader) list(l ast.ListExpr, sc *scope) value {
	out := value{slot: newList(&slot{})}
	plain := make([]any, 0, l.Size())
	for _, item := range l.Elements() {
		v := r.eval(item, sc)
		r.slots.unify(out.slot.inner, v.slot)
		if v.literal != nil {
			plain = append(plain, v.literal)
		}
	}
	if len(plain) == l.Size() {
		out.literal = plain
	}
	return out
}

func (r *reader) mapLiteral(m ast.MapExpr, sc *scope) value {
	out := value{slot: &slot{is: object}}
	plain := map[string]any{}
	for _, item := range m.Entries() {
		entry := item.AsMapEntry()
		key, v := r.eval(entry.Key(), sc), r.eval(entry.Value(), sc)
		name, known := key.literal.(string)
		if !known {
			r.slots.unify(out.slot, &slot{is: mapping, inner: v.slot})
			continue
		}
		r.slots.unify(r.slots.fieldOf(out.slot, name).slot, v.slot)
		if v.literal != nil {
			plain[name] = v.literal
		}
	}
	if len(plain) == m.Size() {
		out.literal = plain
	}
	return out
}

func (r *reader) comprehension(c ast.ComprehensionExpr, sc *scope) value {
	inner := sc.nested()
	if !expr.IsBind(c) {
		over := r.eval(c.IterRange(), sc)
		first := &slot{}
		inner.names[c.IterVar()] = func() value { return value{slot: first} }
		var second *slot
		if c.HasIterVar2() {
			second = &slot{}
			inner.names[c.IterVar2()] = func() value { return value{slot: second} }
		}
		r.questions.each(over.slot, first, second)
	}
	accu := r.eval(c.AccuInit(), sc)
	accu.optional, accu.literal = false, nil
	inner.names[c.AccuVar()] = func() value { return accu }
	if !expr.IsBind(c) {
		r.eval(c.LoopCondition(), inner)
		r.slots.unify(accu.slot, r.eval(c.LoopStep(), inner).slot)
	}
	return r.eval(c.Result(), inner)
}

// data infers data.
func (r *reader) data(n *source.Node, sc *scope) value {
	if n != nil && n.Kind == source.Interp && len(n.Parts) == 1 {
		return r.expression(n.Parts[0].Expr, sc)
	}
	out := value{slot: &slot{}}
	r.place(n, out.slot, sc)
	if n != nil {
		out.literal = plain(n)
	}
	return out
}

// plain returns data without expressions, or nil.
func plain(n *source.Node) any {
	for range n.Expressions() {
		return nil
	}
	return n.Plain()
}

// named infers the data of a name. The entries of a map can read each other.
func (r *reader) named(n *source.Node, sc *scope) value {
	if n == nil || n.Kind != source.Map {
		return r.data(n, sc)
	}
	inner := sc.nested()
	out := value{slot: &slot{is: object}, literal: plain(n)}
	for _, f := range n.Fields {
		inner.declareLazily(f.Key.Value, func() value { return r.data(f.Value, inner) })
	}
	for _, f := range n.Fields {
		r.slots.unify(r.slots.fieldOf(out.slot, f.Key.Value).slot, inner.lookup(f.Key.Value).slot)
	}
	return out
}

// place infers data that is the value of a field, and returns what it is.
func (r *reader) place(n *source.Node, to *slot, sc *scope) value {
	if n == nil {
		return value{slot: to}
	}
	switch n.Kind {
	case source.Interp:
		return r.interp(n, to, sc)
	case source.Map:
		r.slots.unify(to, &slot{is: object})
		for _, f := range n.Fields {
			at := r.slots.fieldOf(to, f.Key.Value)
			describeBy(r.place(f.Value, at.slot, sc), at)
		}
	case source.List:
		r.slots.unify(to, newList(&slot{}))
		inner := to.find().inner
		if inner == nil { // A mistake, which validate reports.
			inner = &slot{}
		}
		for _, item := range n.Items {
			r.place(item, inner, sc)
		}
	case source.Text:
		r.literal(to, text)
	case source.Int:
		r.literal(to, integer)
	case source.Float:
		r.literal(to, number)
	case source.Bool:
		r.literal(to, boolean)
	}
	return value{slot: to}
}

// literal infers a literal: nothing new of a value whose kind is known.
func (r *reader) literal(to *slot, is kind) {
	if to.find().is == unknown {
		r.slots.unify(to, &slot{is: is})
	}
}

func (r *reader) interp(n *source.Node, to *slot, sc *scope) value {
	if len(n.Parts) == 1 {
		v := r.expression(n.Parts[0].Expr, sc)
		r.slots.unify(to, v.slot)
		return v
	}
	r.literal(to, text)
	r.printed(n, sc)
	return value{slot: to}
}

// printed infers the parts of a text.
func (r *reader) printed(n *source.Node, sc *scope) {
	for s := range n.Expressions() {
		r.expression(s, sc).slot.find().printed = true
	}
}

// describeBy gives a field of the primary the description of the field that has its value.
func describeBy(v value, at *field) {
	if v.at != nil {
		f := v.at.find()
		f.description = either(f.description, at.find().description)
	}
}
