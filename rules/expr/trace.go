package expr

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/projection"
)

// Trace keeps in the builders of origin everything that the expression reads of live
// objects, and returns the origin of its result. origin returns that of a variable.
//
// Unlike Paths, it leaves nothing out: an evaluation with the projections gives what one
// with the whole objects gives. In doubt it keeps more.
func (p *Program) Trace(origin func(variable string) *Origin) *Origin {
	t := tracer{origin: origin}
	return t.trace(p.ast.Expr())
}

// A tracer walks one expression.
type tracer struct {
	origin func(variable string) *Origin
	locals []localOrigin
}

// A localOrigin is a variable of a comprehension.
type localOrigin struct {
	name string
	of   *Origin
}

func (t *tracer) trace(e ast.Expr) *Origin {
	switch e.Kind() {
	case ast.IdentKind:
		return t.variable(e.AsIdent())
	case ast.SelectKind:
		field := t.trace(e.AsSelect().Operand()).field(e.AsSelect().FieldName())
		if e.AsSelect().IsTestOnly() {
			return nil
		}
		return field
	case ast.CallKind:
		return t.call(e)
	case ast.ListKind:
		var elements []*Origin
		for _, item := range Parts(e) {
			elements = append(elements, t.trace(item))
		}
		return ListOrigin(elements...)
	case ast.MapKind:
		return t.mapLiteral(e)
	case ast.StructKind:
		for _, f := range Parts(e) {
			t.trace(f).Keep()
		}
	case ast.ComprehensionKind:
		return t.comprehension(e.AsComprehension())
	}
	return nil
}

func (t *tracer) variable(name string) *Origin {
	for _, l := range slices.Backward(t.locals) {
		if l.name == name {
			return l.of
		}
	}
	return t.origin(name)
}

// handsOn lists the functions whose result is one of their arguments, or a list of parts
// of them, whatever the value of the arguments is.
var handsOn = map[string]bool{
	"orValue": true, "or": true, "value": true, "optional.of": true, "optional.unwrap": true, "unwrapOpt": true,
	"dyn":         true,
	operators.Add: true, Present: true, string(Existing): true, string(ByKey): true,
}

func (t *tracer) call(e ast.Expr) *Origin {
	c := e.AsCall()
	var args []*Origin
	for _, arg := range Parts(e) {
		args = append(args, t.trace(arg))
	}
	switch name := c.FunctionName(); {
	case isIndex(e):
		return elementOrigin(args[0], args[1], c.Args()[1])
	case name == operators.Conditional:
		args[0].Keep()
		return joinOrigins(args[1], args[2])
	case name == "cel.@mapInsert" && len(args) == 2: // (map, map)
		return joinOrigins(args[0], (&Origin{elem: args[1].Any()}))
	case name == "cel.@mapInsert": // (map, key, value)
		args[1].Keep()
		return joinOrigins(args[0], &Origin{elem: args[2]})
	case name == "first" || name == "last":
		return args[0].Any()
	case name == setAtIndex || name == insertAtIndex:
		args[1].Keep()
		return &Origin{elem: joinOrigins(args[0].Any(), args[2])}
	case name == "reverse" || name == "slice" || name == removeAtIndex || name == sortBy:
		keepAll(args[1:])
		return &Origin{elem: args[0].Any()}
	case handsOn[name]:
		var out *Origin
		for _, arg := range args {
			out = joinOrigins(out, arg)
		}
		return out
	case name == overloads.Size:
		args[0].Any()
		return nil
	case name == "hasValue", name == string(Exists), name == string(Included), comparesToNull(c):
		return nil
	}
	keepAll(args)
	return nil
}

func keepAll(all []*Origin) {
	for _, o := range all {
		o.Keep()
	}
}

// comparesToNull reports whether a call compares a value to a literal null.
func comparesToNull(c ast.CallExpr) bool {
	if name := c.FunctionName(); name != operators.Equals && name != operators.NotEquals {
		return false
	}
	return slices.ContainsFunc(c.Args(), func(arg ast.Expr) bool {
		return arg.Kind() == ast.LiteralKind && arg.AsLiteral() == types.NullValue
	})
}

// elementOrigin returns the origin of operand[key].
func elementOrigin(operand, keys *Origin, key ast.Expr) *Origin {
	if name, ok := LiteralString(key); ok {
		return operand.field(name)
	}
	keys.Keep()
	return operand.Any()
}

func (t *tracer) mapLiteral(e ast.Expr) *Origin {
	out := &Origin{fields: map[string]*Origin{}}
	for _, item := range e.AsMap().Entries() {
		entry := item.AsMapEntry()
		t.trace(entry.Key()).Keep()
		value := t.trace(entry.Value())
		if name, ok := LiteralString(entry.Key()); ok {
			out.fields[name] = joinOrigins(out.fields[name], value)
		} else {
			out.elem = joinOrigins(out.elem, value)
		}
	}
	return out
}

// LiteralString returns the text of a literal.
func LiteralString(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	name, ok := e.AsLiteral().(types.String)
	return string(name), ok
}

// comprehension walks the loop step once: expressions cannot name the accumulator, so a
// second walk would find nothing more.
func (t *tracer) comprehension(c ast.ComprehensionExpr) *Origin {
	elements := t.trace(c.IterRange()).Any()
	result := t.trace(c.AccuInit())
	mark := len(t.locals)
	t.locals = append(t.locals, localOrigin{c.AccuVar(), result})
	if c.HasIterVar2() {
		t.locals = append(t.locals, localOrigin{c.IterVar(), nil}, localOrigin{c.IterVar2(), elements})
	} else {
		t.locals = append(t.locals, localOrigin{c.IterVar(), elements})
	}
	t.trace(c.LoopCondition()).Keep()
	result = joinOrigins(result, t.trace(c.LoopStep()))
	t.locals = append(t.locals[:mark], localOrigin{c.AccuVar(), result})
	out := t.trace(c.Result())
	t.locals = t.locals[:mark]
	return out
}

// An Origin is where a value comes from: the fields of live objects that it may be, and
// the origins of its parts. nil is the origin of a value that reads nothing more when it
// is used.
//
// A value that is only passed on keeps nothing but its presence. Keep marks what a value
// is read from when the value itself matters.
type Origin struct {
	at     []*projection.Builder
	elem   *Origin            // of a list, or of a map with computed keys
	fields map[string]*Origin // of a map with known keys
}

// ObjectOrigin is the origin of an object.
func ObjectOrigin(b *projection.Builder) *Origin {
	return &Origin{at: []*projection.Builder{b}}
}

// ListOrigin is the origin of a list of these elements.
func ListOrigin(elements ...*Origin) *Origin {
	o := &Origin{}
	for _, e := range elements {
		o.elem = joinOrigins(o.elem, e)
	}
	return o
}

// MapOrigin is the origin of a map with these fields.
func MapOrigin(fields map[string]*Origin) *Origin { return &Origin{fields: fields} }

// Keep keeps everything that the value is made of.
func (o *Origin) Keep() { o.keep(map[*Origin]bool{}) }

// KeepField keeps a field of the value.
func (o *Origin) KeepField(path ...string) {
	for _, name := range path {
		o = o.field(name)
	}
	o.Keep()
}

// keep visits each origin once: lets may share parts, and double them each time.
func (o *Origin) keep(seen map[*Origin]bool) {
	if o == nil || seen[o] {
		return
	}
	seen[o] = true
	for _, b := range o.at {
		b.Keep()
	}
	o.elem.keep(seen)
	for _, f := range o.fields {
		f.keep(seen)
	}
}

// field returns the origin of o.name.
func (o *Origin) field(name string) *Origin {
	if o == nil {
		return nil
	}
	out := joinOrigins(o.fields[name], o.elem)
	if len(o.at) == 0 {
		return out
	}
	below := &Origin{}
	for _, b := range o.at {
		below.at = append(below.at, b.Field(name))
	}
	return joinOrigins(below, out)
}

// Any returns the origin of any element or entry of the value, and keeps their number and
// the keys of a map.
func (o *Origin) Any() *Origin {
	if o == nil {
		return nil
	}
	out := o.elem
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		out = joinOrigins(out, o.fields[key])
	}
	if len(o.at) == 0 {
		return out
	}
	below := &Origin{}
	for _, b := range o.at {
		below.at = append(below.at, b.Each())
	}
	return joinOrigins(below, out)
}

// joinOrigins returns the origin of a value that is either a or b.
func joinOrigins(a, b *Origin) *Origin {
	if a == nil || a == b {
		return b
	}
	if b == nil {
		return a
	}
	out := &Origin{at: slices.Clone(a.at), elem: joinOrigins(a.elem, b.elem)}
	for _, at := range b.at {
		if !slices.Contains(out.at, at) {
			out.at = append(out.at, at)
		}
	}
	if len(a.fields)+len(b.fields) > 0 {
		out.fields = maps.Clone(a.fields)
		if out.fields == nil {
			out.fields = map[string]*Origin{}
		}
		for key, f := range b.fields {
			out.fields[key] = joinOrigins(out.fields[key], f)
		}
	}
	return out
}
