package rules

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
)

// writing appends what templates render to the buffer.
type writing struct {
	*runState
	settling   *settling
	evaluator  *evaluator
	texts      *texts
	dataValues *dataValues
}

// execute runs operations. It stops at the first one that fails or waits, and
// returns it.
func (r *writing) execute(ops []op) (*op, result) {
	for i := range ops {
		o := &ops[i]
		if o.kind == opLiteral {
			r.buf = append(r.buf, o.lit...)
			continue
		}
		if o.kind == opMarks {
			if layer, res := r.appendMarks(o); !res.ok() {
				return layer, res
			}
		} else if res := r.executeOp(o); !res.ok() {
			return o, res
		}
		if len(r.buf) > r.limit {
			return o, o.wrongValue(r.tooLarge())
		}
	}
	return nil, result{}
}

// executeLenient runs operations. It omits those that fail or wait, and calls
// skipped for each of them.
func (r *writing) executeLenient(ops []op, skipped func(*op, result)) {
	for i := range ops {
		mark := len(r.buf)
		res := r.executeOp(&ops[i])
		if res.ok() && len(r.buf) > r.limit {
			res = ops[i].wrongValue(r.tooLarge())
		}
		if !res.ok() {
			r.buf = r.buf[:mark]
			skipped(&ops[i], res)
		}
	}
}

func (r *writing) executeOp(o *op) result {
	switch o.kind {
	case opLiteral:
		r.buf = append(r.buf, o.lit...)
	case opMetadata:
		return r.computeMetadata(o)
	case opValue:
		v, err := r.valueOf(o)
		if err != nil {
			return result{err: err}
		}
		return r.appendEntry(o, v)
	case opText:
		return r.appendText(o)
	case opClose:
		r.buf = append(expr.Close(r.buf, o.lit[0]), ',')
	case opMark:
		r.marks = append(r.marks, len(r.buf))
	case opCloseMarked:
		r.closeMarked(o.lit[0])
	case opGroup:
		_, res := r.execute(o.ops)
		return res
	case opSecret:
		return r.secret(o)
	case opIgnorable:
		return r.writeIgnorable(o)
	default:
		r.appendIdentity(o)
	}
	return result{}
}

// valueOf evaluates the expression of an operation, or selects its field of metadata.
func (r *writing) valueOf(o *op) (ref.Val, *expr.Error) {
	if o.prog != nil {
		return r.evaluator.eval(o.prog)
	}
	if v, present := r.metadata.Find(types.String(o.key)); present {
		return v, nil
	}
	return types.OptionalNone, nil
}

// appendEntry appends a value with its key, if any. It omits an absent value.
func (r *writing) appendEntry(o *op, v ref.Val) result {
	if u, ok := v.(*types.Unknown); ok {
		return result{unknown: u}
	}
	v, ok := expr.Unwrap(v)
	if !ok || v == types.NullValue && len(o.lit) > 0 {
		return result{}
	}
	if o.isText {
		if _, ok := expr.TextOf(v); !ok {
			return o.wrongValue("must be text, got " + expr.TypeOfValue(v))
		}
	}
	mark := len(r.buf)
	r.buf = append(r.buf, o.lit...)
	start := len(r.buf)
	var err error
	a := expr.Appender{Omit: o.omit, Limit: r.limit}
	if r.buf, err = a.Append(r.buf, v); len(r.buf) > r.limit {
		return o.wrongValue(r.tooLarge())
	}
	if err != nil {
		return o.wrongValue(err.Error())
	}
	if o.omit != nil && expr.Omitted(o.omit, o.key, r.buf[start:]) {
		r.buf = r.buf[:mark]
		return result{}
	}
	r.buf = append(r.buf, ',')
	return result{}
}

// wrongValue returns the error for the value of an operation.
func (o *op) wrongValue(message string) result {
	if o.prog != nil {
		return failedAt(o.prog.Pos(), message)
	}
	return failedAt(o.pos, message)
}

func (r *writing) appendText(o *op) result {
	mark := len(r.buf)
	r.buf = append(append(r.buf, o.lit...), '"')
	res := r.texts.eachPart(o.text, func(s string) (wrong string) {
		if r.buf = expr.AppendText(r.buf, s); len(r.buf) > r.limit {
			return r.tooLarge()
		}
		return ""
	})
	switch {
	case res.err != nil:
	case res.unknown != nil:
		r.buf = r.buf[:mark]
	default:
		r.buf = append(r.buf, '"', ',')
	}
	return res
}

func (r *writing) closeMarked(bracket byte) {
	mark := r.marks[len(r.marks)-1]
	r.marks = r.marks[:len(r.marks)-1]
	if r.buf[len(r.buf)-1] != ',' {
		r.buf = r.buf[:mark]
		return
	}
	r.buf = append(expr.Close(r.buf, bracket), ',')
}

// appendIdentity appends the fields of metadata that identify the object and its
// owner.
func (r *writing) appendIdentity(o *op) {
	switch o.kind {
	case opName:
		r.buf = append(expr.AppendString(append(r.buf, o.lit...), r.current.Identity.Name), ',')
	case opNamespace:
		if ns := r.current.Identity.Namespace; ns != "" {
			r.buf = append(expr.AppendString(append(r.buf, o.lit...), ns), ',')
		}
	case opOwner:
		if r.current.Tracked {
			return
		}
		r.buf = expr.AppendString(append(r.buf, o.lit...), r.primary.name)
		if r.primary.uid != "" {
			r.buf = expr.AppendString(append(r.buf, `,"uid":`...), r.primary.uid)
		}
		r.buf = append(r.buf, `}],`...)
	case opOwnerUID:
		if (r.current.Tracked || r.current.Child.HasReplicas()) && r.primary.uid != "" {
			owner := r.primary.uid + "/" + o.key + "/" + r.primary.namespace + "/" + r.primary.name
			if !r.current.Tracked {
				owner += "/" + besideReference
			}
			r.buf = append(expr.AppendString(append(r.buf, o.lit...), owner), ',')
		}
	}
}

// eachEntry calls add for each entry of a map, with nil for an absent value, until
// one is wrong. It returns what is wrong.
func eachEntry(m traits.Mapper, add func(name string, value ref.Val) (wrong string)) (wrong string) {
	for it := expr.Keys(m); wrong == "" && it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return "the keys of a map must be text"
		}
		value, _ := expr.Unwrap(m.Get(key))
		wrong = add(string(name), value)
	}
	return wrong
}

// computeMetadata evaluates metadata that is one expression, for the operations that write
// its fields.
func (r *writing) computeMetadata(o *op) result {
	v, res := r.evaluator.evalPresent(o.prog, "must be a map, but the value is absent")
	if !res.ok() {
		return res
	}
	m, ok := v.(traits.Mapper)
	if !ok {
		return o.wrongValue("must be a map, got " + expr.TypeOfValue(v))
	}
	wrong := eachEntry(m, func(key string, value ref.Val) string {
		if value == nil || value == types.NullValue {
			return "" // It is left out.
		}
		if why := r.current.Child.refusesMetadata(key); why != "" {
			return key + " " + why
		}
		return ""
	})
	if wrong != "" {
		return o.wrongValue(wrong)
	}
	r.metadata = m
	return result{}
}
