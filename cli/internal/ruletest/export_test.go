package ruletest

import "slices"

// Ruled returns the fields of an object that the controller has set.
var Ruled = ruledFields

// Portable returns the suite without the features of an in-memory cluster. It drops cases
// in which time passes, something fails or the controller restarts. It drops expectations
// about writes, Events and Kubernetes' own defaults (snapshots).
func (s *Suite) Portable() *Suite {
	portable := &Suite{name: s.name, setting: s.setting}
	for _, c := range s.cases {
		if c.has(func(a action) bool { c, ok := a.(control); return ok && c.verb != "rules" }) {
			continue
		}
		copied := *c
		copied.steps = slices.Clone(c.steps)
		for i := range copied.steps {
			copied.steps[i].then = slices.DeleteFunc(slices.Clone(copied.steps[i].then), func(e expectation) bool {
				switch e.(type) {
				case events, writes, snapshot:
					return true
				}
				return false
			})
		}
		portable.cases = append(portable.cases, &copied)
	}
	return portable
}

func (c *Case) has(action func(action) bool) bool {
	return slices.ContainsFunc(c.steps, func(s step) bool { return slices.ContainsFunc(s.when, action) })
}

// NeedsMemory reports whether a case has actions or expectations that need a Memory.
func (c *Case) NeedsMemory() bool {
	return c.has(func(a action) bool { _, ok := a.(control); return ok }) || slices.ContainsFunc(c.steps, func(s step) bool {
		return slices.ContainsFunc(s.then, func(e expectation) bool { _, ok := e.(writes); return ok })
	})
}

// Names returns the names of the cases.
func (s *Suite) Names() (names []string) {
	for _, c := range s.cases {
		names = append(names, c.Name)
	}
	return names
}
