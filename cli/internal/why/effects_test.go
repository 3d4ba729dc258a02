package why

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

// An expression is one that gives fields of an object.
type expression struct {
	object rules.Identity
	pos    source.Pos
}

// A pair is a field with an input that it is explained by.
type pair struct {
	field string
	by    expression
	in    string
}

func (p pair) String() string {
	return fmt.Sprintf("%s:%d:%d: %s reads %s", filepath.Base(filepath.Dir(p.by.pos.File)), p.by.pos.Line, p.by.pos.Column, p.field, p.in)
}

// Effects say for the pairs of an example whether a change of the input changes the field,
// or the number of elements of the list that it is in, in any state.
type effects map[pair]bool

// check compares the pairs without an effect with those that cannot have one.
func (x effects) check(t *testing.T) {
	for p, found := range x {
		reason := withoutEffect[p.String()]
		switch {
		case !found && reason == "":
			t.Errorf("%s, but changes with it in no state", p)
		case found && reason != "":
			t.Errorf("%s, and changes with it: it is no exception", p)
		}
	}
}

const (
	hidden   = "offline, the values of generated Secrets are hidden: no change of them is seen"
	noStatus = "offline, previous() has the Jobs that are rendered. They have no status, so their number does not matter here"
	first    = "a Job that is not finished runs, and the first one runs before the others"
)

// withoutEffect are the pairs whose input counts, but cannot have an effect in this test.
var withoutEffect = map[string]string{
	"database:140:61: Job/databases/default-orders.spec.template.metadata.annotations[\"platform.example.com/password\"] reads Secret/databases/default-orders.data.password": hidden,
	"database:182:21: Secret/default/orders-connection.data.password reads Secret/databases/default-orders.data.password":                                                     hidden,
	"database:183:14: Secret/default/orders-connection.data.url reads Secret/databases/default-orders.data.password":                                                          hidden,
	"indexedjob:68:18: IndexedJob/default/resize.status.succeeded reads IndexedJob/default/resize.spec.completions":                                                           noStatus,
	"indexedjob:68:18: IndexedJob/default/resize.status.succeeded reads IndexedJob/default/resize.spec.parallelism":                                                           noStatus,
	"indexedjob:69:15: IndexedJob/default/resize.status.failed reads IndexedJob/default/resize.spec.completions":                                                              noStatus,
	"indexedjob:69:15: IndexedJob/default/resize.status.failed reads IndexedJob/default/resize.spec.parallelism":                                                              noStatus,
	"indexedjob:58:45: Job/default/resize-0.spec.template.spec.containers[0].env[0].value reads Job/default/resize-0.status.conditions[0].status":                             first,
	"indexedjob:58:45: Job/default/resize-0.spec.template.spec.containers[0].env[0].value reads Job/default/resize-0.status.conditions[0].type":                               first,
}

// A state is a state of an example with what its fields are explained by.
type state struct {
	*example
	*dictionary
	own    bool // it is that of the example's folder: its pairs must have effects
	fields []*field
	inputs []input
}

// stateOf explains all fields of a state.
func stateOf(e *example, path string) *state {
	s := &state{example: e, inputs: e.inputs()}
	for _, in := range e.subjects() {
		s.fields = append(s.fields, e.fields(Render(e.loaded.File, in.Primary, in.Input))...)
	}
	if len(s.fields) == 0 {
		e.Error("nothing is rendered")
	}
	s.dictionary = e.newDictionary(path, s.fields)
	return s
}

// try changes an input to several values. It notes the effects, and returns how many fields
// change.
func (s *state) try(in input, values []any, x effects) int {
	changed, resized := map[*field]bool{}, map[*field]bool{}
	for _, to := range values {
		after := s.render(change{in, to})
		for _, f := range s.fields {
			if value, known := f.read(after, f.path); known && !reflect.DeepEqual(value, f.value) {
				changed[f] = true
			}
			if list, known := f.read(after, f.list); known && f.list != nil && sizeOf(list) != f.size {
				resized[f] = true
			}
		}
	}
	for _, f := range s.fields {
		if changed[f] && !f.from.has(in) && !f.why.has(in) {
			s.Errorf("%s changes with %s, which is not named", f, in)
		}
		p := pair{f.String(), f.by, in.String()}
		if _, known := x[p]; in.value != nil && f.direct.has(in) && (known || s.own) {
			x[p] = x[p] || changed[f] || resized[f]
		}
	}
	return len(changed)
}

// isMissing reports whether a pair with the input has no effect yet.
func (x effects) isMissing(in input) bool {
	for p, found := range x {
		if !found && p.in == in.String() {
			return true
		}
	}
	return false
}

// search tries the values that rules may compare an input with, if it has no effect yet.
func (s *state) search(x effects) {
	for _, in := range s.inputs {
		if x.isMissing(in) {
			values := slices.DeleteFunc(s.values(in), func(v any) bool { return slices.Contains(in.others, v) })
			s.try(in, values, x)
		}
	}
}
