package infer

import "reconcel/rules/source"

// An effort says how likely an answer must be.
type effort int

const (
	certain effort = iota
	likely         // operands are of one type
	guess          // what is looped over is a list
)

// A question is asked until it is answered.
type question func(effort) (answered bool)

// ask asks a question now, and later if it has no answer yet.
func (in *inference) ask(q question) {
	if !q(certain) {
		in.open = append(in.open, q)
	}
}

// settle asks the open questions until no answer changes anything.
func (in *inference) settle() {
	for e := certain; e <= guess; {
		in.changed = false
		open := in.open
		in.open = nil
		for i, q := range open {
			if q(e) {
				in.changed = true
			} else {
				in.open = append(in.open, q)
			}
			if e > certain && in.changed { // What follows from it is more certain than the next guess.
				in.open = append(in.open, open[i+1:]...)
				break
			}
		}
		if in.changed {
			e = certain
		} else {
			e++
		}
	}
}

// each asks what the variables of a loop over a value are.
func (in *inference) each(over *slot, first, second *slot) {
	in.ask(func(e effort) bool {
		over := over.find()
		if over.is == unknown && e == guess {
			over.is = list
		}
		switch over.is {
		case list:
			if over.inner == nil {
				over.inner = &slot{}
			}
			if second == nil {
				in.unify(over.inner, first)
			} else {
				in.unify(first, &slot{is: integer})
				in.unify(over.inner, second)
			}
			return true
		case mapping, object:
			in.unify(first, &slot{is: text})
			if second != nil {
				in.unify(in.values(over), second)
			}
			return true
		}
		return over.is != unknown
	})
}

// values returns the slot of the values of a map.
func (in *inference) values(s *slot) *slot {
	if s.is == mapping || s.schema != nil {
		if s.inner == nil {
			s.inner = &slot{}
		}
		return s.inner
	}
	out := &slot{}
	for _, f := range s.fields {
		in.unify(out, f.find().slot)
	}
	return out
}

// index asks what an element of a value is, by its key.
func (in *inference) index(of, key, result *slot) {
	in.ask(func(effort) bool {
		of, key := of.find(), key.find()
		switch {
		case of.is == unknown && key.is == text:
			of.is, of.inner = mapping, &slot{}
		case of.is == unknown && key.is == integer:
			of.is, of.inner = list, &slot{}
		}
		switch of.is {
		case list:
			if of.inner == nil {
				of.inner = &slot{}
			}
			in.unify(key, &slot{is: integer})
			in.unify(of.inner, result)
			return true
		case mapping, object:
			in.unify(key, &slot{is: text})
			in.unify(in.values(of), result)
			return true
		}
		return of.is != unknown
	})
}

// mayHave asks whether a value is an object with a field, which may be absent: the rules ask
// for its name.
func (in *inference) mayHave(of *slot, name string, at source.Pos) {
	in.ask(func(effort) bool {
		of := of.find()
		if of.is == object {
			in.fieldOf(of, name).ask(at)
		}
		return of.is != unknown
	})
}

// within asks what an element is that may be in a list, or a key that may be in a map.
func (in *inference) within(element, of *slot) {
	in.ask(func(e effort) bool {
		of := of.find()
		if of.is == unknown && e == guess {
			of.is = list
		}
		switch of.is {
		case list:
			if of.inner == nil {
				of.inner = &slot{}
			}
			in.unify(of.inner, element)
			return true
		case mapping, object:
			in.unify(element, &slot{is: text})
			return true
		}
		return of.is != unknown
	})
}
