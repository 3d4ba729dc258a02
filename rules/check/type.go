package check

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/expr"
	"reconcel/rules/schema"
)

// A Type describes the values of an expression, or of a field of objects.
type Type struct {
	all    *universe
	cel    *types.Type
	schema *fieldSchema // or nil
	path   string       // from the kind, which names types without a name
	doc    string
	of     string // the definition of Kubernetes' own that has the field, or ""
	field  string // its name there
}

// A Field is a field of a type.
type Field struct {
	Name     string
	Required bool
	Type
}

// KindType returns the type of the objects of a kind, and whether its schema is known.
func KindType(set *schema.Set, gvk runtimeschema.GroupVersionKind) (Type, bool) {
	all := newUniverse(set)
	k := set.Kind(gvk)
	if k == nil || set.Schema(gvk) == nil {
		return Type{}, false
	}
	return all.typed(all.kindType(k)), true
}

// SelectorType returns the type of label selectors.
func SelectorType(set *schema.Set) Type {
	all := newUniverse(set)
	p := all.labelSelector()
	return all.typed(all.objectType(p, p.name))
}

// typed returns the description of a type of CEL.
func (u *universe) typed(t *types.Type) Type {
	out := Type{all: u, cel: t}
	if o := u.object(t); o != nil {
		out.schema, out.path = o.schema, strings.TrimPrefix(o.name, mark)
	}
	if out.schema != nil {
		out.doc = out.schema.Description
	}
	return out
}

// described returns the description of a schema that another one refers to.
func (u *universe) described(s *spec.Schema, parent *fieldSchema, path string) Type {
	p := u.at(s, parent)
	out := Type{all: u, cel: u.typeOf(p, path), schema: p, path: path, doc: p.Description}
	if s != nil && s.Description != "" {
		out.doc = s.Description // It is about this field, not about all of that type.
	}
	return out
}

// String returns the name of the type, as messages show it.
func (t Type) String() string {
	switch {
	case t.cel == nil:
		return "any"
	case t.schema != nil && t.schema.is == portLike:
		return "integer or string"
	case t.schema != nil && t.schema.is == quantity:
		return "quantity"
	}
	return expr.TypeName(t.cel)
}

// Doc returns the description in the schema, or "". Those of Kubernetes' own kinds are not
// in their schemas.
func (t Type) Doc() string {
	doc := t.doc
	if doc == "" && schema.Own(t.of) {
		doc = schema.Description(t.of, t.field)
	}
	if doc == "" && t.schema != nil && schema.Own(t.schema.name) {
		doc = schema.Description(t.schema.name, "")
	}
	return strings.TrimSpace(doc)
}

// Enum returns the texts that a field may hold, or none if it may hold any.
func (t Type) Enum() (values []string) {
	if t.schema == nil {
		return nil
	}
	for _, v := range t.schema.Enum {
		if s, ok := v.(string); ok {
			values = append(values, s)
		}
	}
	return values
}

// IsMap reports whether the values are maps.
func (t Type) IsMap() bool {
	if t.schema != nil {
		return t.schema.is == fielded || t.schema.is == mapping
	}
	return t.cel != nil && (t.cel.Kind() == types.MapKind || t.cel.Kind() == types.StructKind)
}

// IsList reports whether the values are lists.
func (t Type) IsList() bool {
	return t.schema != nil && t.schema.is == list || t.cel != nil && t.cel.Kind() == types.ListKind
}

// IsBool reports whether the values are true or false.
func (t Type) IsBool() bool { return t.cel != nil && t.cel.Kind() == types.BoolKind }

// Fields returns the known fields, sorted by name.
func (t Type) Fields() (all []Field) {
	o := t.object()
	if o == nil {
		return nil
	}
	for _, name := range o.names() {
		f, _ := t.Field(name)
		all = append(all, Field{Name: name, Required: o.schema != nil && slices.Contains(o.schema.Required, name), Type: f})
	}
	return all
}

// Field returns the type of a field, and whether it is known.
func (t Type) Field(name string) (Type, bool) {
	if t.schema != nil && t.schema.is == mapping {
		return t.Element(), true
	}
	o := t.object()
	if o == nil {
		return Type{}, false
	}
	if o.schema == nil {
		ft := o.fields[name]
		return t.all.typed(ft), ft != nil
	}
	s, known := o.schema.Properties[name]
	if !known {
		return t.lent(o, name)
	}
	f := t.all.described(&s, o.schema, t.path+"."+name)
	f.of, f.field = o.schema.name, name
	if o.parts != nil {
		f.cel = t.all.fieldType(o, name)
	}
	return f, true
}

// lent returns the type of a field that only other kinds of the rule have.
func (t Type) lent(o *object, name string) (Type, bool) {
	if ft := t.all.fieldType(o, name); o.parts != nil && ft != nil {
		return t.all.typed(ft), true
	}
	return Type{}, false
}

// Element returns the type of the elements of a list, or of the values of a map.
func (t Type) Element() Type {
	switch {
	case t.all == nil || t.cel == nil:
		return Type{cel: types.DynType}
	case t.schema != nil && t.schema.is == list && t.schema.Items != nil:
		return t.all.described(t.schema.Items.Schema, t.schema, t.path+"[]")
	case t.schema != nil && t.schema.is == mapping && t.schema.AdditionalProperties != nil:
		return t.all.described(t.schema.AdditionalProperties.Schema, t.schema, t.path+"{}")
	}
	inner, _ := unwrapped(t.cel)
	if parts := inner.Parameters(); len(parts) > 0 {
		return t.all.typed(parts[len(parts)-1])
	}
	return t.all.typed(types.DynType)
}

// Key returns the type of the keys of a map, or of the indexes of a list.
func (t Type) Key() Type {
	if t.IsList() {
		return Type{all: t.all, cel: types.IntType}
	}
	return Type{all: t.all, cel: types.StringType}
}

// Value returns the type without optional.
func (t Type) Value() Type {
	if t.cel == nil {
		return t
	}
	inner, _ := unwrapped(t.cel)
	return t.all.typed(inner)
}

func (t Type) object() *object {
	if t.all == nil {
		return nil
	}
	return t.all.object(t.cel)
}

// Methods returns the functions that can be called on a value of the type.
func (t Type) Methods() []expr.Function {
	if t.cel == nil {
		return nil
	}
	return expr.Methods(t.cel)
}

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
