package rules

import "github.com/google/cel-go/common/types"

// value computes the data. What it gives is a native value, an optional
// without a value, an unknown or an error, for the expression that asked.
func (r *run) value(d *data) any {
	switch {
	case d.prog != nil:
		v, err := r.eval(d.prog)
		if err != nil {
			return types.WrapErr(err)
		}
		return v
	case d.text != nil:
		s, res := r.text(d.text)
		if res.unknown != nil {
			return res.unknown
		}
		if res.err != nil {
			return types.WrapErr(res.err)
		}
		return types.String(s)
	case d.isMap:
		return r.mapValue(d)
	case d.items != nil:
		return r.listValue(d)
	}
	return d.constant
}

func (r *run) mapValue(d *data) any {
	out := make(map[string]any, len(d.fields))
	var unknown *types.Unknown
	for _, f := range d.fields {
		v := r.value(f.value)
		switch w := v.(type) {
		case *types.Err:
			return w
		case *types.Unknown:
			unknown = types.MergeUnknowns(w, unknown)
		case *types.Optional:
			if !w.HasValue() && d.strict {
				return f.value.absent()
			}
			if w.HasValue() {
				out[f.key] = w.GetValue()
			}
		case nil, types.Null:
			if d.strict {
				return f.value.absent()
			}
		default:
			out[f.key] = v
		}
	}
	if unknown != nil {
		return unknown
	}
	return out
}

func (r *run) listValue(d *data) any {
	out := make([]any, 0, len(d.items))
	var unknown *types.Unknown
	for _, item := range d.items {
		v := r.value(item)
		switch w := v.(type) {
		case *types.Err:
			return w
		case *types.Unknown:
			unknown = types.MergeUnknowns(w, unknown)
		case *types.Optional:
			if !w.HasValue() && d.strict {
				return item.absent()
			}
			if w.HasValue() {
				out = append(out, w.GetValue())
			}
		default:
			out = append(out, v)
		}
	}
	if unknown != nil {
		return unknown
	}
	return out
}
