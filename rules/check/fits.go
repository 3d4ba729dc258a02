package check

import (
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// fits reports whether a field can hold a value of a type. What is not known fits.
func (u *universe) fits(t *types.Type, p *fieldSchema) bool { return u.fitsWithin(t, p, 0) }

func (u *universe) fitsWithin(t *types.Type, p *fieldSchema, depth int) bool {
	t, _ = unwrapped(t)
	if p == nil || p.is == anything || depth > maxDepth {
		return true
	}
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.TypeParamKind, types.ErrorKind:
		return true
	case types.NullTypeKind:
		return depth == 0 || p.own || p.nullable || p.Default != nil // Null leaves the entry out.
	case types.BoolKind:
		return p.is == boolean
	case types.IntKind, types.UintKind:
		return p.is == integer || p.is == number || p.is == quantity || p.is == portLike
	case types.DoubleKind:
		return p.is == number || p.is == quantity
	case types.StringKind, types.TimestampKind, types.DurationKind:
		return p.is == text || p.is == quantity || p.is == portLike
	case types.ListKind:
		return p.is == list && u.fitsWithin(t.Parameters()[0], u.items(p), depth+1)
	case types.MapKind:
		return p.is == fielded || p.is == mapping && u.fitsWithin(t.Parameters()[1], u.values(p), depth+1)
	case types.StructKind:
		return u.objectFits(t, p, depth)
	}
	return false // Types, bytes and the values of special functions.
}

// objectFits compares the fields that both have.
func (u *universe) objectFits(t *types.Type, p *fieldSchema, depth int) bool {
	o := u.object(t)
	switch {
	case o == nil:
		return !expr.IsSpecial(t)
	case p.is != fielded && p.is != mapping:
		return false
	case o.schema != nil && o.schema.resolved == p.resolved:
		return true
	}
	for _, name := range o.names() {
		f := u.values(p)
		if p.is == fielded {
			f = u.field(p, name)
		}
		if f != nil && !u.fitsWithin(u.fieldType(o, name), f, depth+1) {
			return false
		}
	}
	return true
}

// words name the values that a field holds.
var words = map[valueKind]string{
	text: "string", integer: "integer", number: "number", boolean: "boolean", list: "list", mapping: "map", fielded: "map",
	quantity: "quantity", portLike: "integer or string",
}

func (u *universe) expected(p *fieldSchema) string {
	switch p.is {
	case list:
		if items := u.items(p); items.is != anything {
			return "list of " + words[items.is]
		}
	case mapping:
		if values := u.values(p); values.is != anything {
			return "map of " + words[values.is]
		}
	}
	return words[p.is]
}
