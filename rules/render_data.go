package rules

import "github.com/google/cel-go/common/types"

// dataValues are data with expressions in them, as lets and queries have.
type dataValues struct {
	*runState
	evaluator *evaluator
	texts     *texts
}

// value computes the data: a native value, an empty optional, an unknown or an
// error.
func (r *dataValues) value(d *data) any {
	switch {
	case d.prog != nil:
		v, err := r.evaluator.eval(d.prog)
		if err != nil {
			return types.WrapErr(err)
		}
		return v
	case d.text != nil:
		s, res := r.texts.text(d.text)
		if res.unknown != nil {
			return res.unknown
		}
		if res.err != nil {
			return types.WrapErr(res.err)
		}
		return types.String(s)
	case d.let != nil:
		return r.letValue(d.let.index)
	case d.entries != nil:
		return r.containerValue(d)
	}
	return d.constant
}

// containerValue computes a map or list. It omits absent entries, and null in a
// map.
func (r *dataValues) containerValue(d *data) any {
	var m map[string]any
	var list []any
	if d.isMap {
		m = make(map[string]any, len(d.entries))
	} else {
		list = make([]any, 0, len(d.entries))
	}
	var unknown *types.Unknown
	for _, e := range d.entries {
		v, present := r.value(e.value), true
		switch w := v.(type) {
		case *types.Err:
			return w
		case *types.Unknown:
			unknown = types.MergeUnknowns(w, unknown)
			continue
		case *types.Optional:
			if present = w.HasValue(); present {
				v = w.GetValue()
			}
		case nil, types.Null:
			present = !d.isMap
		}
		switch {
		case !present && d.strict:
			return e.value.absent()
		case present && d.isMap:
			m[e.key] = v
		case present:
			list = append(list, v)
		}
	}
	switch {
	case unknown != nil:
		return unknown
	case d.isMap:
		return m
	}
	return list
}
