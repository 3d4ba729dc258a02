package infer

import (
	"reflect"
	"slices"

	"reconcel/rules/source"
)

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
