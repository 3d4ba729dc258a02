package rules

import (
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"reconcel/rules/expr"
)

// A Trace records what the expressions of one rendering read. Its zero value is empty. It
// changes no value of the rendering, but slows it down.
type Trace struct {
	ran  map[evaluated]*evaluation
	last map[*expr.Program]*evaluation
	now  *evaluation // or nil
}

// evaluated identifies an evaluation: an expression of a child runs for each of its
// objects, and one of a condition for each of its elements.
type evaluated struct {
	prog  *expr.Program
	child *Child
	index int
}

// An evaluation is one run of an expression.
type evaluation struct {
	prog  *expr.Program
	value ref.Val
	err   *expr.Error
	reads []read
	known map[string]bool
}

// A read is a part of a variable that an expression has read.
type read struct {
	of    *variableRead
	path  []any
	use   expr.Use
	value any
}

// A variableRead is a variable with its value at the time of the read.
type variableRead struct {
	name    string // as expressions write it
	self    bool
	clock   bool
	local   bool        // of forEach
	of      variable    // of the rule, if it is none of these
	call    idCall      // that reads it, if any
	element *evaluation // the list of forEach, unless the variable is an index
	object  *Desired    // of the variable child
	value   any
}

// evaluated identifies the evaluation that begins.
func (r *evaluator) evaluated(p *expr.Program) evaluated {
	if r.current != nil {
		return evaluated{p, r.current.Child, r.current.Index}
	}
	return evaluated{prog: p, index: r.element.index}
}

// begin starts the evaluation of an expression, and returns the one around it.
func (t *Trace) begin(of evaluated) (outer *evaluation) {
	if t.ran == nil {
		t.ran, t.last = map[evaluated]*evaluation{}, map[*expr.Program]*evaluation{}
	}
	outer = t.now
	t.now = newEvaluation(of.prog)
	t.ran[of], t.last[of.prog] = t.now, t.now
	return outer
}

func newEvaluation(p *expr.Program) *evaluation {
	return &evaluation{prog: p, known: map[string]bool{}}
}

// end ends it with its result.
func (t *Trace) end(outer *evaluation, v ref.Val, err *expr.Error) {
	t.now.value, t.now.err = v, err
	t.now = outer
}

// Read implements expr.Reader. What is read outside of expressions does not count.
func (t *Trace) Read(of any, path []any, use expr.Use, value any) {
	v := of.(*variableRead)
	key := string(use) + expr.Path(v.name, path)
	if t.now == nil || t.now.known[key] {
		return
	}
	t.now.known[key] = true
	t.now.reads = append(t.now.reads, read{v, path, use, value})
}

// follow returns the value of a variable in a form that records what is read of it.
func (t *Trace) follow(r *runState, name string, value any) any {
	v := &variableRead{name: name, value: value}
	e, isElement := value.(tracedElement)
	declared, ofRule := r.rule.vars[name]
	call, isCall := r.rule.idCalls[name]
	switch {
	case name == self:
		v.self = true
	case name == expr.ClockVariable:
		v.clock = true
		t.Read(v, nil, expr.UsedValue, nil)
		return value
	case ofRule && declared.kind == definitionVariable:
		return value // It is a constant.
	case ofRule:
		v.of = declared
	case isCall:
		v.of, v.call = call.of, call
	case isElement:
		v.local, v.element = true, e.of
		return expr.Follow(e.value, v, t, e.at)
	case name == child && r.child != nil:
		v.object = r.current
	default: // The index of forEach.
		return value
	}
	return expr.Follow(value, v, t)
}

// A tracedElement is an element of a list of forEach.
type tracedElement struct {
	of    *evaluation // of the list
	at    int         // its index
	value any
}

// element returns an element of a list of forEach with the list. t may be nil.
func (t *Trace) element(of iterator, i int, value ref.Val) any {
	if t == nil {
		return value
	}
	return tracedElement{t.last[of.in], i, value}
}

// plainElement returns an element as expressions see it.
func plainElement(v any) any {
	if e, traced := v.(tracedElement); traced {
		return e.value
	}
	return v
}

// part returns what of the result of an evaluation is at a path, and what the evaluation has
// read that this part can depend on.
func (t *Trace) part(e *evaluation, path []any, use expr.Use) (value any, reads []read) {
	outer, all := t.now, newEvaluation(e.prog)
	t.now = all
	for _, r := range e.reads {
		t.Read(r.of, r.path, r.use, r.value)
	}
	if v, ok := expr.At(e.value, path); e.value != nil && ok && !types.IsUnknownOrError(v) {
		switch use {
		case expr.UsedValue:
			value, _ = jsonValue(v)
		case expr.UsedExtent:
			if n, ok := expr.Extent(v); ok {
				value, _ = jsonValue(n)
			}
		}
	}
	depends := e.prog.DependenceOf(path, use)
	for _, r := range all.reads {
		within := r.path
		if r.of.local {
			within = within[1:] // The path begins with the index of the element.
		}
		if r.of.clock || depends.On(r.of.static(), within) {
			reads = append(reads, r)
		}
	}
	t.now = outer
	return value, reads
}

// static returns the variable that expressions name: in a call of a function of ids it is
// the argument.
func (v *variableRead) static() string {
	if v.call.function == "" {
		return v.name
	}
	return strings.TrimSuffix(strings.TrimPrefix(v.name, string(v.call.function)+"("), ")")
}
