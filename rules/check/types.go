package check

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema"
)

// mark begins the names of our types. It cannot be part of an expression: a type
// with the name of a variable would hide it.
const mark = "schema:"

// A universe holds all object types. A type is created when it is first mentioned.
type universe struct {
	set     *schema.Set
	objects map[string]*object
}

func newUniverse(set *schema.Set) *universe {
	return &universe{set: set, objects: map[string]*object{}}
}

// An object is the type of a map with known fields: an object of the API, a part of
// one, or a map of let.
type object struct {
	name   string
	schema *fieldSchema // or nil
	fields map[string]*types.Type
	// whole: it is an object of the API, not a part of one.
	whole bool
	// entry is the common type of the entries of a map of let.
	entry *types.Type
	// parts are the objects of whose fields it is blended, its own first.
	parts []*object
}

// A valueKind is the kind of values that a schema allows.
type valueKind int

const (
	anything valueKind = iota
	text
	integer
	number
	boolean
	list
	mapping  // any keys, values of one type
	fielded  // known fields
	quantity // text or a number
	portLike // an integer or text
)

// A fieldSchema is a schema with its reference resolved.
type fieldSchema struct {
	*spec.SchemaProps
	resolved *spec.Schema // which has these properties
	is       valueKind
	nullable bool
	// own: it belongs to Kubernetes itself. The name of its definition may be "".
	own  bool
	name string
	open bool
	kind *schema.Kind // whose CRD it is in, or nil
}

// at resolves a schema. One without a name has the owner of its parent.
func (u *universe) at(s *spec.Schema, parent *fieldSchema) *fieldSchema {
	p := &fieldSchema{name: schema.Reference(s)}
	if p.name != "" {
		p.own = schema.Own(p.name)
	} else if parent != nil {
		p.own, p.kind = parent.own, parent.kind
	}
	p.resolved = u.set.Resolve(s)
	if p.resolved == nil {
		p.resolved = &spec.Schema{}
		p.SchemaProps = &p.resolved.SchemaProps
		return p
	}
	p.SchemaProps = &p.resolved.SchemaProps
	p.nullable = s.Nullable || p.Nullable
	p.is = p.classify()
	return p
}

// labelSelector returns the schema of label selectors.
func (u *universe) labelSelector() *fieldSchema { return u.ofMeta("LabelSelector") }

// objectMeta returns the schema of metadata.
func (u *universe) objectMeta() *fieldSchema { return u.ofMeta("ObjectMeta") }

// ofMeta returns the schema of a type that all kinds share.
func (u *universe) ofMeta(name string) *fieldSchema {
	return u.at(spec.RefSchema(schema.RefPrefix+"io.k8s.apimachinery.pkg.apis.meta.v1."+name), nil)
}

// root returns the schema of a whole object.
func (u *universe) root(k *schema.Kind) *fieldSchema {
	s := u.set.Schema(k.GVK)
	if s == nil {
		return nil
	}
	p := u.at(s, nil)
	p.name, p.own, p.kind = k.Definition, !k.Custom, k
	return p
}

func (p *fieldSchema) classify() valueKind {
	intOrString, _ := p.resolved.Extensions.GetBool("x-kubernetes-int-or-string")
	preserve, _ := p.resolved.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	embedded, _ := p.resolved.Extensions.GetBool("x-kubernetes-embedded-resource")
	p.open = preserve || embedded
	switch {
	case intOrString || p.Format == "int-or-string":
		return portLike
	case strings.HasSuffix(p.name, ".resource.Quantity"):
		return quantity
	case len(p.Type) != 1:
		return anything
	}
	if p.Type[0] == "object" {
		return p.classifyObject()
	}
	return jsonTypes[p.Type[0]]
}

// jsonTypes are the types of OpenAPI but object. Any other type allows anything.
var jsonTypes = map[string]valueKind{"string": text, "integer": integer, "number": number, "boolean": boolean,
	"array": list}

func (p *fieldSchema) classifyObject() valueKind {
	switch extra := p.AdditionalProperties; {
	case len(p.Properties) > 0:
		return fielded
	case extra != nil && (extra.Schema != nil || extra.Allows):
		return mapping
	case p.open || p.own: // Kubernetes' own objects without fields hold JSON.
		return mapping
	}
	return fielded
}

// field returns the schema of a field, nil if it is unknown.
func (u *universe) field(p *fieldSchema, name string) *fieldSchema {
	if s, ok := p.Properties[name]; ok {
		return u.at(&s, p)
	}
	return nil
}

func (u *universe) items(p *fieldSchema) *fieldSchema {
	if p.Items == nil {
		return u.at(nil, p)
	}
	return u.at(p.Items.Schema, p)
}

func (u *universe) values(p *fieldSchema) *fieldSchema {
	if p.AdditionalProperties == nil {
		return u.at(nil, p)
	}
	return u.at(p.AdditionalProperties.Schema, p)
}

// typeOf returns the type of a schema's values. A schema without a name has the
// path as its name.
func (u *universe) typeOf(p *fieldSchema, path string) *types.Type {
	scalar := scalarTypes[p.is]
	switch {
	case scalar != nil && p.nullable:
		return types.NewNullableType(scalar)
	case scalar != nil:
		return scalar
	case p.is == fielded:
		return u.objectType(p, path)
	case p.nullable: // CEL cannot compare lists and maps with null.
		return types.DynType
	case p.is == list:
		return types.NewListType(u.typeOf(u.items(p), path+"[]"))
	case p.is == mapping:
		return types.NewMapType(types.StringType, u.typeOf(u.values(p), path+"{}"))
	}
	return types.DynType
}

var scalarTypes = map[valueKind]*types.Type{
	text: types.StringType, quantity: types.StringType, integer: types.IntType, number: types.DoubleType,
	boolean: types.BoolType,
}

func (u *universe) objectType(p *fieldSchema, path string) *types.Type {
	name := p.name
	if name == "" {
		name = path
	}
	name = mark + name
	if u.objects[name] == nil {
		u.objects[name] = &object{name: name, schema: p, fields: map[string]*types.Type{}}
	}
	return types.NewObjectType(name)
}

// kindType returns the type of a kind's objects, or dyn.
func (u *universe) kindType(k *schema.Kind) *types.Type {
	if k == nil {
		return types.DynType
	}
	p := u.root(k)
	if p == nil {
		return types.DynType
	}
	t := u.typeOf(p, k.Definition)
	if o := u.object(t); o != nil {
		o.whole = true
	}
	return t
}

// fieldType returns the type of a field, nil if it is unknown.
func (u *universe) fieldType(o *object, field string) *types.Type {
	if t := o.fields[field]; t != nil || o.schema == nil {
		return t
	}
	if o.parts != nil {
		t := u.blendedField(o, field)
		o.fields[field] = t
		return t
	}
	t := types.DynType
	if p := u.field(o.schema, field); p != nil {
		t = u.typeOf(p, strings.TrimPrefix(o.name, mark)+"."+field)
	} else if !o.schema.open {
		return nil
	}
	o.fields[field] = t
	return t
}

// object returns the object type of that name, or nil.
func (u *universe) object(t *types.Type) *object {
	t, _ = unwrapped(t)
	if t == nil || t.Kind() != types.StructKind {
		return nil
	}
	return u.objects[t.TypeName()]
}

// unwrapped returns the type of an optional's value.
func unwrapped(t *types.Type) (inner *types.Type, optional bool) {
	for t != nil && t.Kind() == types.OpaqueKind && t.TypeName() == types.OptionalType.TypeName() {
		t = t.Parameters()[0]
		optional = true
	}
	return t, optional
}

// optional reports whether an object may lack a field. Without a schema, it may not.
func (o *object) optional(field string) bool {
	if o.parts != nil {
		return o.parts[0].optional(field)
	}
	if o.schema == nil || slices.Contains(o.schema.Required, field) || o.surelyHas(field) {
		return false
	}
	s, known := o.schema.Properties[field]
	return known && s.Default == nil
}

func (o *object) names() []string { return slices.Sorted(o.fieldNames()) }

// fieldNames iterates over the names of the fields, in no order.
func (o *object) fieldNames() iter.Seq[string] {
	if o.parts != nil {
		return o.blendedNames()
	}
	if o.schema != nil {
		return maps.Keys(o.schema.Properties)
	}
	return maps.Keys(o.fields)
}
