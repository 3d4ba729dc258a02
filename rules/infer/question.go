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

// Questions keeps the questions that have no answer yet.
type questions struct {
	slots *slots
	open  []question
}

// ask asks a question now, and later if it has no answer yet.
func (all *questions) ask(q question) {
	if !q(certain) {
		all.open = append(all.open, q)
	}
}

// settle asks the open questions until no answer changes anything.
func (all *questions) settle() {
	for e := certain; e <= guess; {
		all.slots.changed = false
		open := all.open
		all.open = nil
		for i, q := range open {
			if q(e) {
				all.slots.changed = true
			} else {
				all.open = append(all.open, q)
			}
			if e > certain && all.slots.changed { // What follows from it is more certain than the next guess.
				all.open = append(all.open, open[i+1:]...)
				break
			}
		}
		if all.slots.changed {
			e = certain
		} else {
			e++
		}
	}
}

// each asks what the variables of a loop over a value are.
func (all *questions) each(over *slot, first, second *slot) {
	all.ask(func(e effort) bool {
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
				all.slots.unify(over.inner, first)
			} else {
				all.slots.unify(first, &slot{is: integer})
				all.slots.unify(over.inner, second)
			}
			return true
		case mapping, object:
			all.slots.unify(first, &slot{is: text})
			if second != nil {
				all.slots.unify(all.values(over), second)
			}
			return true
		}
		return over.is != unknown
	})
}

// values returns the slot of the values of a map.
func (all *questions) values(s *slot) *slot {
	if s.is == mapping || s.schema != nil {
		if s.inner == nil {
			s.inner = &slot{}
		}
		return s.inner
	}
	out := &slot{}
	for _, f := range s.fields {
		all.slots.unify(out, f.find().slot)
	}
	return out
}

// index asks what an element of a value is, by its key.
func (all *questions) index(of, key, result *slot) {
	all.ask(func(effort) bool {
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
			all.slots.unify(key, &slot{is: integer})
			all.slots.unify(of.inner, result)
			return true
		case mapping, object:
			all.slots.unify(key, &slot{is: text})
			all.slots.unify(all.values(of), result)
			return true
		}
		return of.is != unknown
	})
}

// mayHave asks whether a value is an object with a field, which may be absent: the rules ask
// for its name.
func (all *questions) mayHave(of *slot, name string, at source.Pos) {
	all.ask(func(effort) bool {
		of := of.find()
		if of.is == object {
			all.slots.fieldOf(of, name).ask(at)
		}
		return of.is != unknown
	})
}

// within asks what an element is that may be in a list, or a key that may be in a map.
func (all *questions) within(element, of *slot) {
	all.ask(func(e effort) bool {
		of := of.find()
		if of.is == unknown && e == guess {
			of.is = list
		}
		switch of.is {
		case list:
			if of.inner == nil {
				of.inner = &slot{}
			}
			all.slots.unify(of.inner, element)
			return true
		case mapping, object:
			all.slots.unify(element, &slot{is: text})
			return true
		}
		return of.is != unknown
	})
}
