package rules

import (
	"encoding/base64"
	"maps"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/expr"
)

// secret computes the data of a Secret. As in the API server, a key in stringData
// takes precedence over the same key in data.
func (r *writing) secret(o *op) result {
	out := map[string]any{}
	if o.secret.data != nil {
		m, res := r.entries(o, o.secret.data)
		if !res.ok() {
			return res
		}
		maps.Copy(out, m)
	}
	m, res := r.entries(o, o.secret.plain)
	if !res.ok() {
		return res
	}
	size := 0
	for key, value := range m {
		v := types.DefaultTypeAdapter.NativeToValue(value)
		if v == types.NullValue {
			continue // The API server removes it.
		}
		plain, ok := expr.TextOf(v)
		if !ok {
			return failedAt(o.pos, "all values must be text")
		}
		if size += len(plain); size > maxObject {
			return failedAt(o.pos, tooLarge)
		}
		out[key] = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	if len(out) == 0 {
		return result{}
	}
	return r.appendEntry(o, types.DefaultTypeAdapter.NativeToValue(out))
}

// entries computes a map but does not convert its values.
func (r *writing) entries(o *op, d *data) (map[string]any, result) {
	switch v := r.dataValues.value(d).(type) {
	case *types.Unknown:
		return nil, result{unknown: v}
	case *types.Err:
		return nil, result{err: asError(v, o.pos)}
	case nil, types.Null:
		return nil, result{}
	case map[string]any:
		return v, result{}
	case ref.Val:
		inner, ok := expr.Unwrap(v)
		if !ok {
			return nil, result{}
		}
		if m, ok := inner.(traits.Mapper); ok {
			out := map[string]any{}
			wrong := eachEntry(m, func(name string, value ref.Val) string {
				if value != nil {
					out[name] = value
				}
				return ""
			})
			if wrong != "" {
				return nil, failedAt(o.pos, wrong)
			}
			return out, result{}
		}
	}
	return nil, failedAt(o.pos, "must be a map")
}
