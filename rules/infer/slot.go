package infer

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A kind is the type of a value, as far as it is known.
type kind int

const (
	unknown kind = iota
	anything
	boolean
	integer
	number
	text
	quantity
	portLike // an integer or text
	moment   // a timestamp
	special  // a value that no object has, such as a duration
	list
	mapping // any keys, values of one type
	object  // known fields
)

// A slot is what is known about the type of a value.
type slot struct {
	same    *slot // the slot that stands for this one, or nil
	is      kind
	name    string // of a special value's type
	format  string
	enum    []any
	printed bool // it is a part of a text
	clash   bool // it is used as values of two types
	merged  bool // fields of others are merged with it

	schema     *spec.Schema // of an object of Kubernetes or of a given CRD, or nil
	definition string       // its name, or ""
	fields     map[string]*field
	inner      *slot // elements of a list, or values of a mapping
}

// find returns the slot that stands for this one.
func (s *slot) find() *slot {
	for s.same != nil {
		s = s.same
	}
	return s
}

func newList(inner *slot) *slot { return &slot{is: list, inner: inner} }

// scalars have no parts.
var scalars = map[string]kind{"string": text, "integer": integer, "number": number, "boolean": boolean}

// Slots makes slots of schemas, and one slot of two.
type slots struct {
	set     *schema.Set
	changed bool // since it was last reset
}

// slotOf returns a slot with a schema of the set.
func (all *slots) slotOf(s *spec.Schema) *slot {
	if s == nil {
		return &slot{is: anything}
	}
	name := schema.Reference(s)
	if s = all.set.Resolve(s); s == nil {
		return &slot{is: anything}
	}
	intOrString, _ := s.Extensions.GetBool("x-kubernetes-int-or-string")
	switch {
	case intOrString || s.Format == "int-or-string":
		return &slot{is: portLike}
	case strings.HasSuffix(name, ".resource.Quantity"):
		return &slot{is: quantity}
	case len(s.Type) != 1:
		return &slot{is: anything}
	}
	out := &slot{is: scalars[s.Type[0]]}
	switch extra := s.AdditionalProperties; {
	case out.is != unknown:
		out.format, out.enum = s.Format, s.Enum
	case s.Type[0] == "array" && s.Items != nil && s.Items.Schema != nil:
		out.is, out.inner = list, all.slotOf(s.Items.Schema)
	case len(s.Properties) > 0:
		out.is, out.schema, out.definition = object, s, name
	case extra != nil && extra.Schema != nil:
		out.is, out.inner = mapping, all.slotOf(extra.Schema)
	default:
		out.is = anything
	}
	return out
}

// combined returns what a value is that is used as both kinds, and whether there is such a
// value.
func combined(a, b kind) (kind, bool) {
	if a > b {
		a, b = b, a
	}
	switch {
	case a == unknown || a == b || a == anything:
		return b, true
	case a == integer && b == number:
		return number, true
	case b == portLike && (a == integer || a == text):
		return a, true
	case b == quantity && a == text:
		return quantity, true
	case b == quantity && (a == integer || a == number), a == quantity && b == portLike:
		return portLike, true
	case a == text && b == moment:
		return text, true
	case a == mapping && b == object:
		return mapping, true
	}
	return a, false
}

// unify makes one slot of two.
func (all *slots) unify(a, b *slot) {
	if a == nil || b == nil {
		return
	}
	if a, b = a.find(), b.find(); a == b {
		return
	}
	if a.schema == nil && b.schema != nil {
		a, b = b, a
	}
	is, fits := combined(a.is, b.is)
	if !fits || a.is == special && a.name != b.name {
		all.changed = all.changed || !a.clash || !b.clash
		a.clash, b.clash = true, true
		return
	}
	all.changed = true
	aFields, bFields := a.fields, b.fields
	if a.schema != nil {
		is = object // Kubernetes knows its fields.
	}
	if a.is == integer && b.is == number {
		a.format = ""
	}
	a.is, b.same = is, a
	a.name, a.format, a.printed, a.clash, a.merged = either(a.name, b.name), narrower(a.format, b.format), a.printed ||
		b.printed, a.clash || b.clash, a.merged || b.merged
	if a.enum == nil {
		a.enum = b.enum
	}
	inner := b.inner
	if a.inner == nil {
		a.inner, inner = b.inner, nil
	}
	if is == mapping {
		if a.inner == nil {
			a.inner = &slot{}
		}
		for _, fields := range []map[string]*field{aFields, bFields} {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				all.unify(a.inner, fields[name].find().slot)
			}
		}
		a.fields = nil
	} else {
		for _, name := range slices.Sorted(maps.Keys(bFields)) {
			all.unifyFields(all.fieldOf(a, name), bFields[name])
		}
	}
	if inner != nil && is != object {
		all.unify(a.inner, inner)
	}
}

func either(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// narrower returns the format that fits both: an int64 may not fit into an int32.
func narrower(a, b string) string {
	if a == "int64" && b == "int32" {
		return b
	}
	return either(a, b)
}

// A field is a field of objects, and how rules read it.
type field struct {
	same *field // the field that stands for this one, or nil
	slot *slot
	// at is where it is mentioned first.
	at source.Pos
	// reads are where it is read without a guard in the expression.
	reads []source.Pos
	// asks counts reads that allow for its absence, and defaulted those of them that have
	// a literal instead, which are in defaults.
	asks, defaulted int
	defaults        []any
	// choices are literals that it is compared with, at compared.
	choices     []any
	compared    source.Pos
	description string
	required    bool
}

// find returns the field that stands for this one.
func (f *field) find() *field {
	for f.same != nil {
		f = f.same
	}
	return f
}

// fieldOf returns a field of a value.
func (all *slots) fieldOf(s *slot, name string) *field {
	s = s.find()
	if s.is == unknown {
		s.is = object
		all.changed = true
	}
	switch s.is {
	case mapping:
		return &field{slot: s.inner}
	case object:
	case anything:
		return &field{slot: &slot{is: anything}}
	default:
		return &field{slot: &slot{}} // A mistake, which validate reports.
	}
	if f := s.fields[name]; f != nil {
		return f.find()
	}
	f := &field{slot: &slot{}}
	if s.schema != nil {
		f.slot = &slot{is: anything}
		if p, known := s.schema.Properties[name]; known {
			f.slot = all.slotOf(&p)
			f.description = fieldDescription(s, name, &p)
		}
	}
	if s.fields == nil {
		s.fields = map[string]*field{}
	}
	s.fields[name] = f
	return f
}

// unifyFields makes one field of two.
func (all *slots) unifyFields(a, b *field) {
	if a, b = a.find(), b.find(); a == b {
		return
	}
	b.same = a
	if a.at == (source.Pos{}) {
		a.at = b.at
	}
	if a.compared == (source.Pos{}) {
		a.compared = b.compared
	}
	a.reads = append(a.reads, b.reads...)
	a.asks, a.defaulted = a.asks+b.asks, a.defaulted+b.defaulted
	a.defaults = append(a.defaults, b.defaults...)
	a.choices = append(a.choices, b.choices...)
	a.description = either(a.description, b.description)
	all.unify(a.slot, b.slot)
}

// read notes a read of a field.
func (f *field) read(at source.Pos) {
	if f.at == (source.Pos{}) {
		f.at = at
	}
	f.reads = append(f.reads, at)
}

// ask notes a read that allows for the field's absence.
func (f *field) ask(at source.Pos) {
	if f.at == (source.Pos{}) {
		f.at = at
	}
	f.asks++
}

// compareWithNull makes a question of a read whose value is compared with null.
func (f *field) compareWithNull(at source.Pos) {
	f.reads = slices.DeleteFunc(f.reads, func(read source.Pos) bool { return read == at })
	f.ask(at)
}

// choose notes a literal that the field is compared with.
func (f *field) choose(value any, at source.Pos) {
	for _, c := range f.choices {
		if reflect.DeepEqual(c, value) {
			return
		}
	}
	if len(f.choices) == 0 {
		f.compared = at
	}
	f.choices = append(f.choices, value)
}

// given returns the default of a field: what all reads agree on that allow for its absence.
func (f *field) given() (value any, ok bool) {
	if f.asks == 0 || f.asks > f.defaulted {
		return nil, false
	}
	for _, v := range f.defaults {
		if !reflect.DeepEqual(v, f.defaults[0]) {
			return nil, false
		}
	}
	if f.defaults[0] == "" { // The rules say: nothing.
		return nil, false
	}
	return f.defaults[0], true
}
