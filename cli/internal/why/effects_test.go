package why

import "reflect"

// A state is a state of an example with what its fields are explained by.
type state struct {
	*example
	fields []*field
	inputs []input
}

// stateOf explains all fields of a state.
func stateOf(e *example) *state {
	s := &state{example: e, inputs: e.inputs()}
	for _, in := range e.subjects() {
		s.fields = append(s.fields, e.fields(Render(e.loaded.File, in.Primary, in.Input))...)
	}
	if len(s.fields) == 0 {
		e.Error("nothing is rendered")
	}
	return s
}

// try changes an input to other values, and returns how many fields change.
func (s *state) try(in input) int {
	changed := map[*field]bool{}
	for _, to := range in.others {
		after := s.render(edit{in, to})
		for _, f := range s.fields {
			if value, known := f.read(after, f.path); known && !reflect.DeepEqual(value, f.value) {
				changed[f] = true
			}
		}
	}
	for f := range changed {
		if !f.from.has(in) && !f.why.has(in) {
			s.Errorf("%s changes with %s, which is not named", f, in)
		}
	}
	return len(changed)
}
